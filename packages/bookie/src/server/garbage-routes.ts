import { type Logger, TaskSet } from '@daybook/runtime';
import { type AdminRoute, booleanField, objectBody } from './admin-route.js';
import { bookieHttpErrors } from './http-errors.js';

type Kind = 'minor' | 'major';

/** What the routes need of garbage collection. */
export interface GarbageControl {
  force(wanted?: Partial<Record<Kind, boolean>>): Promise<void>;
  suspend(kinds: readonly Kind[]): void;
  resume(kinds: readonly Kind[]): void;
  status(): {
    isForceGcRunning: boolean;
    compacting: Kind | undefined;
    compactions: Readonly<Record<Kind, { count: number; lastTimeMs: number }>>;
    suspended: Readonly<Record<Kind, boolean>>;
  };
  /** Each entry log with its live share. */
  logs(): readonly object[];
}

const base = '/api/v1/bookie';

/** BookKeeper's paths of garbage collection and compaction. */
export function garbageRoutes(garbage: GarbageControl, logger: Logger): AdminRoute[] {
  const tasks = new TaskSet((error) => logger.error({ error }, 'a garbage collection that was asked for failed'));
  const suspended = () => {
    const { major, minor } = garbage.status().suspended;
    return { isMajorGcSuspended: major, isMinorGcSuspended: minor };
  };
  return [
    {
      path: `${base}/gc`,
      GET: () => ({ is_in_force_gc: garbage.status().isForceGcRunning }),
      PUT: ({ body }) => {
        const fields = objectBody(body, ['forceMajor', 'forceMinor']);
        const [major, minor] = [booleanField(fields, 'forceMajor'), booleanField(fields, 'forceMinor')];
        tasks.run('garbage collection', () => garbage.force({ ...(major !== undefined && { major }), ...(minor !== undefined && { minor }) }));
        return { is_in_force_gc: garbage.status().isForceGcRunning };
      },
    },
    {
      path: `${base}/gc_details`,
      GET: () => {
        const status = garbage.status();
        const { major, minor } = status.compactions;
        return [
          {
            forceCompacting: status.isForceGcRunning,
            majorCompacting: status.compacting === 'major',
            minorCompacting: status.compacting === 'minor',
            lastMajorCompactionTime: major.lastTimeMs,
            lastMinorCompactionTime: minor.lastTimeMs,
            majorCompactionCounter: major.count,
            minorCompactionCounter: minor.count,
            ...status,
          },
        ];
      },
    },
    {
      path: `${base}/gc/suspend_compaction`,
      GET: suspended,
      PUT: ({ body }) => {
        garbage.suspend(chosenKinds(body, 'suspend'));
        return suspended();
      },
    },
    {
      path: `${base}/gc/resume_compaction`,
      PUT: ({ body }) => {
        garbage.resume(chosenKinds(body, 'resume'));
        return suspended();
      },
    },
    { path: `${base}/entry_logs`, GET: () => garbage.logs() },
  ];
}

function chosenKinds(body: unknown, word: 'suspend' | 'resume'): Kind[] {
  const [majorName, minorName] = [`${word}Major`, `${word}Minor`];
  const fields = objectBody(body, [majorName, minorName]);
  const kinds: Kind[] = [];
  if (booleanField(fields, majorName) === true) kinds.push('major');
  if (booleanField(fields, minorName) === true) kinds.push('minor');
  if (kinds.length === 0) throw bookieHttpErrors.BAD_REQUEST(`say which: {"${majorName}": true, "${minorName}": true}`);
  return kinds;
}
