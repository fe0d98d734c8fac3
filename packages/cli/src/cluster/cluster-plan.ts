import { configKeys } from '@daybook/runtime';
import type { ZodObject } from 'zod';
import { bookieProcessConfigSchema } from '../bookie-process-config.js';
import { brokerProcessConfigSchema } from '../broker-config.js';
import { cliErrors } from '../errors.js';
import { otherVariables } from '../settings.js';

export type MemberRole = 'zookeeper' | 'bookie' | 'broker';

/** A daybook process of the cluster: its name in logs and folders, and the words after `daybook` that start it. */
export interface MemberPlan {
  role: 'bookie' | 'broker';
  name: string;
  arguments: readonly string[];
  /** Its whole environment. */
  environment: Readonly<Record<string, string | undefined>>;
}

export interface ClusterRequest {
  bookiesCount: number;
  host: string;
  metadata: string;
  /** Absolute. */
  folder: string;
  /** Settings by name. */
  settings: Readonly<Record<string, string>>;
  environment: Readonly<Record<string, string | undefined>>;
  logFormat?: string | undefined;
  logLevel?: string | undefined;
  ports: ClusterPorts;
}

export interface ClusterPorts {
  zookeeper: number;
  bookies: readonly { grpc: number; http: number }[];
  brokers: readonly number[];
}

/** Copies per entry for so many bookies: with three or more one may be away; two keep both copies, as Pulsar does. */
export function quorumsFor(bookiesCount: number): { ensembleSize: number; writeQuorum: number; ackQuorum: number } {
  const copies = Math.min(3, bookiesCount);
  return { ensembleSize: copies, writeQuorum: copies, ackQuorum: Math.min(2, copies) };
}

export function planMembers(request: ClusterRequest): MemberPlan[] {
  const given = sortSettings(request.settings, request.environment);
  const common = [...flag('--metadata', request.metadata), ...flag('--host', request.host)];
  common.push(...flag('--log-format', request.logFormat), ...flag('--log-level', request.logLevel));
  const choices = ownChoices(request);
  const bookies = request.ports.bookies.map(({ grpc, http }, index): MemberPlan => {
    const name = `bookie-${index + 1}`;
    const own = [...flag('--data', `${request.folder}/${name}`), ...flag('--port', String(grpc)), ...flag('--http-port', String(http))];
    const words = ['bookie', '--bookie-id', name, ...own, ...common, ...assignments({ ...choices.bookie, ...given.bookie.settings })];
    return { role: 'bookie', name, arguments: words, environment: given.bookie.environment };
  });
  const brokers = request.ports.brokers.map((port, index): MemberPlan => {
    const settings = { ...choices.broker, ...given.broker.settings };
    const words = ['broker', ...flag('--port', String(port)), ...common, ...assignments(settings)];
    return { role: 'broker', name: `broker-${index + 1}`, arguments: words, environment: given.broker.environment };
  });
  return [...bookies, ...brokers];
}

/** A member that is killed is noticed sooner than by default: on one machine there is no network to be patient with. */
const sessionTimeoutMs = 5_000;

/** What is set without being asked for, unless the environment says otherwise (settings given by name win anyway). */
function ownChoices({ bookiesCount, environment }: ClusterRequest): Record<'bookie' | 'broker', Record<string, string>> {
  const { ensembleSize, writeQuorum, ackQuorum } = quorumsFor(bookiesCount);
  const both = { metadataSessionTimeoutMs: String(sessionTimeoutMs) };
  const quorums = {
    managedLedgerDefaultEnsembleSize: String(ensembleSize),
    managedLedgerDefaultWriteQuorum: String(writeQuorum),
    managedLedgerDefaultAckQuorum: String(ackQuorum),
  };
  const allKeys = Object.values(schemas).flatMap((schema) => configKeys(schema));
  const given = new Set(allKeys.flatMap((key) => (environment[key.environmentName] === undefined ? [] : [key.name])));
  const notGiven = (choices: Record<string, string>) => Object.fromEntries(Object.entries(choices).filter(([name]) => !given.has(name)));
  const bookie = { ...both, autoRecoveryDaemonEnabled: 'true' };
  return { bookie: notGiven(bookie), broker: notGiven({ ...both, ...quorums }) };
}

function flag(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value];
}

function assignments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
}

const schemas = { bookie: bookieProcessConfigSchema, broker: brokerProcessConfigSchema } as const;
/** These differ from member to member, so one value for all of them is a mistake. */
const ownSettings = [
  'metadata',
  'host',
  'port',
  'httpPort',
  'advertisedAddress',
  'dataDirectory',
  'journalDirectories',
  'ledgerDirectories',
  'bookieId',
];
const ownVariables: ReadonlySet<string> = new Set(
  Object.values(schemas).flatMap((schema) =>
    configKeys(schema)
      .filter((key) => key.name !== 'metadata' && ownSettings.includes(key.name))
      .map((key) => key.environmentName),
  ),
);

interface Given {
  settings: Record<string, string>;
  environment: Record<string, string | undefined>;
}

/** Each role gets the settings it knows; one that no role knows is refused. */
function sortSettings(settings: ClusterRequest['settings'], environment: ClusterRequest['environment']): Record<'bookie' | 'broker', Given> {
  const result = { bookie: known(schemas.bookie, settings, environment), broker: known(schemas.broker, settings, environment) };
  if (environment.DAYBOOK_CONFIG !== undefined) throw cliErrors.USAGE('DAYBOOK_CONFIG is set, but a cluster takes no settings file: use --set');
  for (const name of Object.keys(settings)) {
    if (ownSettings.includes(name)) throw cliErrors.USAGE(`--set ${name}=... cannot be one value for all members: see daybook cluster --help`);
    if (!(name in result.bookie.settings) && !(name in result.broker.settings)) {
      throw cliErrors.USAGE(`--set ${name}=...: neither brokers nor bookies have such a setting: see docs/configuration.md`);
    }
  }
  for (const name of Object.keys(environment)) {
    if (ownVariables.has(name)) throw cliErrors.USAGE(`${name} in the environment cannot be one value for all members: see daybook cluster --help`);
    if (isSetting(name) && !(name in result.bookie.environment) && !(name in result.broker.environment)) {
      throw cliErrors.USAGE(`${name} in the environment: neither brokers nor bookies have such a setting: see docs/configuration.md`);
    }
  }
  return result;
}

function isSetting(variable: string): boolean {
  return variable.startsWith('DAYBOOK_') && !otherVariables.includes(variable);
}

function known(schema: ZodObject, settings: ClusterRequest['settings'], environment: ClusterRequest['environment']): Given {
  const keys = configKeys(schema);
  const names = new Set(keys.map((key) => key.name));
  const variables = new Set(keys.map((key) => key.environmentName));
  return {
    settings: Object.fromEntries(Object.entries(settings).filter(([name]) => names.has(name))),
    environment: Object.fromEntries(Object.entries(environment).filter(([name]) => !isSetting(name) || variables.has(name))),
  };
}
