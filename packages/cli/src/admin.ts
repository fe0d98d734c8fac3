import { topicPath } from '@daybook/client';
import { Command } from 'commander';
import { type ConnectionOptions, clientOf, withConnection } from './connection.js';
import { cliErrors } from './errors.js';

/** One REST call as a sub-command: its words, its arguments, and what they become. */
interface Call {
  name: string;
  arguments: readonly string[];
  description: string;
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  path(...values: string[]): string;
  body?(...values: string[]): unknown;
  hasForce?: boolean;
}

const encode = encodeURIComponent;
const topic = (name: string): string => topicPath(name);
const namespace = (name: string): string => {
  const parts = name.split('/');
  if (parts.length !== 2 || parts.some((part) => part === '')) throw cliErrors.USAGE(`"${name}" is not a namespace: write TENANT/NAMESPACE`);
  return parts.map(encode).join('/');
};

const groups: Readonly<Record<string, { description: string; calls: readonly Call[] }>> = {
  clusters: {
    description: 'clusters this one knows of',
    calls: [
      { name: 'list', arguments: [], description: 'names of all clusters', method: 'GET', path: () => 'clusters' },
      { name: 'get', arguments: ['<cluster>'], description: 'addresses of a cluster', method: 'GET', path: (c) => `clusters/${encode(c ?? '')}` },
    ],
  },
  tenants: {
    description: 'tenants',
    calls: [
      { name: 'list', arguments: [], description: 'names of all tenants', method: 'GET', path: () => 'tenants' },
      { name: 'get', arguments: ['<tenant>'], description: 'its settings', method: 'GET', path: (t) => `tenants/${encode(t ?? '')}` },
      {
        name: 'create',
        arguments: ['<tenant>', '<clusters>'],
        description: 'make a tenant; clusters it may use, comma-separated',
        method: 'PUT',
        path: (t) => `tenants/${encode(t ?? '')}`,
        body: (_t, clusters) => ({ adminRoles: [], allowedClusters: (clusters ?? '').split(',') }),
      },
      { name: 'delete', arguments: ['<tenant>'], description: 'remove an empty tenant', method: 'DELETE', path: (t) => `tenants/${encode(t ?? '')}` },
    ],
  },
  namespaces: {
    description: 'namespaces of a tenant',
    calls: [
      { name: 'list', arguments: ['<tenant>'], description: 'namespaces of a tenant', method: 'GET', path: (t) => `namespaces/${encode(t ?? '')}` },
      { name: 'get', arguments: ['<namespace>'], description: 'its policies', method: 'GET', path: (n) => `namespaces/${namespace(n ?? '')}` },
      {
        name: 'create',
        arguments: ['<namespace>'],
        description: 'make TENANT/NAMESPACE',
        method: 'PUT',
        path: (n) => `namespaces/${namespace(n ?? '')}`,
      },
      {
        name: 'delete',
        arguments: ['<namespace>'],
        description: 'remove an empty one',
        method: 'DELETE',
        path: (n) => `namespaces/${namespace(n ?? '')}`,
      },
    ],
  },
  topics: {
    description: 'topics',
    calls: [
      {
        name: 'list',
        arguments: ['<namespace>'],
        description: 'topics of TENANT/NAMESPACE',
        method: 'GET',
        path: (n) => `persistent/${namespace(n ?? '')}`,
      },
      { name: 'create', arguments: ['<topic>'], description: 'make a topic', method: 'PUT', path: (t) => topic(t ?? '') },
      { name: 'delete', arguments: ['<topic>'], description: 'remove a topic', method: 'DELETE', path: (t) => topic(t ?? ''), hasForce: true },
      {
        name: 'stats',
        arguments: ['<topic>'],
        description: 'rates, backlog, producers, consumers',
        method: 'GET',
        path: (t) => `${topic(t ?? '')}/stats`,
      },
      {
        name: 'internal-stats',
        arguments: ['<topic>'],
        description: 'ledgers and cursors',
        method: 'GET',
        path: (t) => `${topic(t ?? '')}/internalStats`,
      },
      {
        name: 'lookup',
        arguments: ['<topic>'],
        description: 'which broker serves it',
        method: 'GET',
        path: (t) => `/lookup/v2/topic/${topic(t ?? '')}`,
      },
      {
        name: 'unload',
        arguments: ['<topic>'],
        description: 'let go of it, so that it is loaded anew',
        method: 'PUT',
        path: (t) => `${topic(t ?? '')}/unload`,
      },
    ],
  },
  subscriptions: {
    description: 'subscriptions of a topic',
    calls: [
      { name: 'list', arguments: ['<topic>'], description: 'names', method: 'GET', path: (t) => `${topic(t ?? '')}/subscriptions` },
      {
        name: 'create',
        arguments: ['<topic>', '<subscription>', '[position]'],
        description: 'make one at `latest` (default) or `earliest`',
        method: 'PUT',
        path: (t, s) => `${topic(t ?? '')}/subscription/${encode(s ?? '')}`,
        body: (_t, _s, position) => position ?? 'latest',
      },
      {
        name: 'delete',
        arguments: ['<topic>', '<subscription>'],
        description: 'remove one',
        method: 'DELETE',
        path: (t, s) => `${topic(t ?? '')}/subscription/${encode(s ?? '')}`,
        hasForce: true,
      },
    ],
  },
  brokers: {
    description: 'brokers of this cluster',
    calls: [
      { name: 'list', arguments: [], description: 'live brokers', method: 'GET', path: () => 'brokers' },
      { name: 'health', arguments: [], description: 'publish and read back a message; prints ok', method: 'GET', path: () => 'brokers/health' },
    ],
  },
  bookies: {
    description: 'bookies of this cluster',
    calls: [{ name: 'list', arguments: [], description: 'bookies that are up', method: 'GET', path: () => 'bookies/all' }],
  },
};

export function command(): Command {
  const admin = new Command('admin').description('Look at and change a running cluster (the REST calls of /admin/v2 as commands).');
  for (const [group, { description, calls }] of Object.entries(groups)) {
    const parent = admin.command(group).description(description);
    for (const call of calls) addCall(parent, call);
  }
  return admin.addHelpText(
    'after',
    '\nExamples:\n  daybook admin topics list public/default\n  daybook admin topics stats orders\n  daybook admin subscriptions create orders audit earliest',
  );
}

function addCall(parent: Command, call: Call): void {
  const command = withConnection(parent.command(call.name)).description(call.description);
  for (const argument of call.arguments) command.argument(argument);
  if (call.hasForce) command.option('-f, --force', 'even while clients are connected');
  command.action(async (...given: unknown[]) => {
    const options = given.at(-2) as ConnectionOptions & { force?: boolean };
    const values = given.slice(0, -2) as string[];
    const path = `${call.path(...values)}${options.force ? '?force=true' : ''}`;
    const answer = await clientOf(options).admin.call(call.method, path.startsWith('/') ? path : `/admin/v2/${path}`, call.body?.(...values));
    if (answer !== undefined) process.stdout.write(`${typeof answer === 'string' ? answer : JSON.stringify(answer, undefined, 2)}\n`);
  });
}
