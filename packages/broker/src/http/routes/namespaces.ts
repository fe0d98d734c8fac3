import type { Answer } from '../answer.js';
import { emptyAnswer, jsonAnswer, noContent, notSupported, Refused, Unreadable } from '../answer.js';
import type { Call } from '../call.js';
import { isJsonObject, type JsonValue } from '../json-body.js';
import type { Router } from '../router.js';
import { bundlesCountMax, bundlesOf, defaultPolicies, optionalPolicies, type UnsetAnswer, unset, unsetPolicies } from './namespace-policies.js';
import { type RouteContext, requireNamespace } from './route-context.js';

const one = '/admin/v2/namespaces/:tenant/:namespace';

/** `/admin/v2/namespaces`. Any broker answers: nothing here needs a topic's owner. */
export function addNamespaceRoutes(router: Router, context: RouteContext): void {
  const { broker } = context;
  const { directory, clusterName } = broker;
  const policiesOf = async (call: Call) => ({ ...defaultPolicies(clusterName), ...(await requireNamespace(broker, call.namespaceName())) });
  router
    .add('GET', '/admin/v2/namespaces/:tenant', async (call) => {
      const tenant = call.tenant();
      if ((await directory.tenant(tenant)) === undefined) throw new Refused(404, 'Tenant not found');
      return jsonAnswer(await directory.namespaces(tenant));
    })
    .add('GET', one, async (call) => jsonAnswer(await policiesOf(call)))
    .add('PUT', one, async (call) => createNamespace(call, context))
    .add('DELETE', one, async (call) => {
      const name = call.namespaceName();
      if ((await directory.namespace(name)) === undefined) throw new Refused(404, `Namespace ${name} does not exist.`);
      if (call.flag('force')) throw new Refused(405, "Broker doesn't allow forced deletion of namespaces");
      await directory.deleteNamespace(name);
      return noContent;
    })
    .add('GET', `${one}/topics`, async (call) => {
      const mode = call.query.get('mode') ?? 'PERSISTENT';
      if (!['PERSISTENT', 'NON_PERSISTENT', 'ALL'].includes(mode)) throw new Refused(404, 'Not Found: mode is PERSISTENT, NON_PERSISTENT or ALL');
      const name = call.namespaceName();
      await requireNamespace(broker, name);
      return jsonAnswer(mode === 'NON_PERSISTENT' ? [] : await broker.topics.list(name));
    })
    .add('GET', `${one}/bundles`, async (call) => jsonAnswer((await policiesOf(call)).bundles))
    .add('GET', `${one}/replication`, async (call) => jsonAnswer((await policiesOf(call)).replication_clusters));
  addUnsetPolicies(router, context);
  router.add('*', `${one}/*`, async (call) => {
    await requireNamespace(broker, call.namespaceName());
    throw notSupported(`${call.method} ${call.segments.slice(5).join('/')} of a namespace`);
  });
}

function addUnsetPolicies(router: Router, { broker }: RouteContext): void {
  for (const [policy, answer] of Object.entries(unsetPolicies)) {
    router
      .add('GET', `${one}/${policy}`, async (call) => {
        await requireNamespace(broker, call.namespaceName());
        return unsetAnswer(answer);
      })
      .add('DELETE', `${one}/${policy}`, async (call) => {
        await requireNamespace(broker, call.namespaceName());
        return noContent;
      });
    for (const method of ['PUT', 'POST']) {
      router.add(method, `${one}/${policy}`, () => {
        throw notSupported(`Setting the namespace policy ${policy}`);
      });
    }
  }
}

export function unsetAnswer(answer: UnsetAnswer): Answer {
  if (answer === unset.nothing) return emptyAnswer;
  return answer === unset.none ? noContent : jsonAnswer(answer);
}

async function createNamespace(call: Call, { broker }: RouteContext): Promise<Answer> {
  const name = call.namespaceName();
  const { directory, clusterName } = broker;
  const [tenantName] = name.split('/') as [string];
  const tenant = await directory.tenant(tenantName);
  if (tenant === undefined) throw new Refused(404, 'Tenant does not exist');
  const policies = policiesIn(call, clusterName);
  const stranger = (policies.replication_clusters as string[]).find((cluster) => !tenant.allowedClusters.includes(cluster));
  if (stranger !== undefined) {
    throw new Refused(403, `Cluster [${stranger}] is not in the list of allowed clusters list for tenant [${tenantName}]`);
  }
  await directory.createNamespace(name, policies);
  return noContent;
}

/** Bundles, clusters and properties may be given; any other policy only with the value it has anyway. Unknown members are passed over. */
function policiesIn(call: Call, clusterName: string): Record<string, unknown> {
  const body = call.json();
  const policies: Record<string, unknown> = { replication_clusters: [clusterName], bundles: bundlesOf(4) };
  if (body === undefined || body === null) return policies;
  if (!isJsonObject(body)) throw new Unreadable('Policies is a JSON object');
  const defaults = defaultPolicies(clusterName);
  for (const [field, value] of Object.entries(body)) {
    if (value === null) continue;
    if (field === 'bundles') policies.bundles = bundlesIn(value);
    else if (field === 'replication_clusters') policies.replication_clusters = clustersIn(value, clusterName);
    else if (field === 'properties') policies.properties = propertiesIn(value);
    else if (field in defaults ? !isSame(value, defaults[field]) : optionalPolicies.has(field) && !isNoRetention(field, value)) {
      throw notSupported(`Setting the namespace policy ${field}`);
    }
  }
  return policies;
}

function bundlesIn(value: JsonValue): { boundaries: string[]; numBundles: number } {
  if (!isJsonObject(value)) throw new Unreadable('bundles is a JSON object');
  const count = value.numBundles ?? 0;
  if (typeof count !== 'number' || !Number.isInteger(count)) throw new Unreadable('numBundles is a whole number');
  if (count < 0 || count > bundlesCountMax)
    throw new Refused(412, `Invalid number of bundles. Number of bundles has to be in the range of (0, ${bundlesCountMax}].`);
  return bundlesOf(count === 0 ? 4 : count);
}

function clustersIn(value: JsonValue, clusterName: string): string[] {
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === 'string'))
    throw new Unreadable('replication_clusters is an array of texts');
  return value.length === 0 ? [clusterName] : [...new Set(value)];
}

function propertiesIn(value: JsonValue): Record<string, string> {
  if (!isJsonObject(value) || !Object.values(value).every((item) => typeof item === 'string'))
    throw new Unreadable('properties is an object of texts');
  return value as Record<string, string>;
}

/** Retention 0/0 is what holds without the policy. */
function isNoRetention(field: string, value: JsonValue): boolean {
  return field === 'retention_policies' && isJsonObject(value) && Object.values(value).every((limit) => limit === 0);
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a, stringOfBigint) === JSON.stringify(b) || (isJsonObject(a as JsonValue) && Object.keys(a as object).length === 0);
}

function stringOfBigint(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
