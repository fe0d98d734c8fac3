import { RealClock } from '@daybook/runtime/real';
import { cliErrors } from '../errors.js';
import { shellErrors } from './errors.js';
import { askBookie, type LiveOptions } from './live-bookie.js';
import { bytesText, factsText, type OutputOptions, ProgressLine, printResult, tableText } from './output.js';
import { liveAddress } from './shell-options.js';

export interface LiveCommandOptions extends LiveOptions, OutputOptions {}

export interface ScrubOptions extends LiveCommandOptions {
  status?: boolean;
  /** Commander's name of `--no-wait`. */
  wait?: boolean;
}

const base = '/api/v1/bookie';
const pollMs = 500;

export async function garbageStatus(options: LiveCommandOptions): Promise<void> {
  const address = liveAddress(options);
  const [details] = await askBookie<object[]>(address, `${base}/gc_details`);
  const logs = await askBookie<object[]>(address, `${base}/entry_logs`);
  printResult(options, { ...details, logs }, () => `${factsText(details ?? {})}\n\n${tableText(logs, 'no entry logs')}`);
}

export function forceGarbageCollection(options: LiveCommandOptions): Promise<void> {
  return collect({}, options);
}

export function compact(kind: string, options: LiveCommandOptions): Promise<void> {
  checkKinds([kind]);
  return collect({ forceMajor: kind === 'major', forceMinor: kind === 'minor' }, options);
}

/** Starts it and waits for its end. */
async function collect(body: object, options: LiveCommandOptions): Promise<void> {
  const address = liveAddress(options);
  const clock = new RealClock();
  const progress = new ProgressLine(() => clock.monoMs());
  await askBookie(address, `${base}/gc`, { method: 'PUT', body });
  while ((await askBookie<{ is_in_force_gc: boolean }>(address, `${base}/gc`)).is_in_force_gc) {
    progress.tell('garbage collection is running; interrupting this command does not end it');
    await clock.sleep(pollMs);
  }
  progress.end();
  const [details] = await askBookie<object[]>(address, `${base}/gc_details`);
  printResult(options, details ?? {}, factsText);
}

export async function switchCompaction(word: 'suspend' | 'resume', kinds: readonly string[], options: LiveCommandOptions): Promise<void> {
  checkKinds(kinds);
  const isChosen = (kind: string): boolean => kinds.length === 0 || kinds.includes(kind);
  const body = { [`${word}Major`]: isChosen('major'), [`${word}Minor`]: isChosen('minor') };
  printResult(options, await askBookie<object>(liveAddress(options), `${base}/gc/${word}_compaction`, { method: 'PUT', body }), factsText);
}

function checkKinds(kinds: readonly string[]): void {
  const wrong = kinds.find((kind) => kind !== 'minor' && kind !== 'major');
  if (wrong !== undefined) throw cliErrors.USAGE(`${wrong} is no kind of compaction: write minor or major`);
}

interface ScrubAnswer {
  isRunning: boolean;
  bytesDone: number;
  last?: { startedAtMs: number; badEntriesCount: number; failedLogs: object[] } & Record<string, unknown>;
  badEntries: object[];
}

export async function scrub(options: ScrubOptions): Promise<void> {
  const address = liveAddress(options);
  const clock = new RealClock();
  const progress = new ProgressLine(() => clock.monoMs());
  let answer = await askBookie<ScrubAnswer>(address, `${base}/scrub`, { method: options.status ? 'GET' : 'PUT' });
  while (!options.status && options.wait !== false && answer.isRunning) {
    progress.tell(`${bytesText(answer.bytesDone)} checked; interrupting this command does not end the check`);
    await clock.sleep(pollMs);
    answer = await askBookie<ScrubAnswer>(address, `${base}/scrub`);
  }
  progress.end();
  printResult(options, answer, ({ isRunning, last, badEntries }) => {
    const bad = badEntries.length === 0 ? '' : `\n${tableText(badEntries, '')}`;
    return `${factsText({ isRunning, ...last })}${bad}`;
  });
  const problems = answer.badEntries.length + (answer.last?.failedLogs.length ?? 0);
  if (problems > 0)
    throw shellErrors.PROBLEMS(problems, 'entries or logs that cannot be read on this disk; autorecovery copies them again from other replicas');
}

export async function readOnly(wish: string | undefined, options: LiveCommandOptions): Promise<void> {
  const address = liveAddress(options);
  if (wish !== undefined) {
    if (wish !== 'on' && wish !== 'off') throw cliErrors.USAGE(`readonly ${wish}: write on or off`);
    await askBookie(address, `${base}/state/readonly`, { method: 'PUT', body: { readOnly: wish === 'on' } });
  }
  const { isReadOnly, readOnlyReasons } = await askBookie<{ isReadOnly: boolean; readOnlyReasons: object[] }>(address, `${base}/status`);
  printResult(options, { isReadOnly, readOnlyReasons }, factsText);
}
