import type { Answer } from '../answer.js';
import { emptyAnswer, jsonAnswer, noContent, notSupported, Refused, Unreadable } from '../answer.js';
import type { Call } from '../call.js';
import { isJsonObject, type JsonValue } from '../json-body.js';
import type { Router } from '../router.js';
import { type RouteContext, requireNamespace } from './route-context.js';
import { type UnsetAnswer, unset, unsetPolicies } from './unset-policies.js';

const one = '/admin/v2/namespaces/:tenant/:namespace';

/** `/admin/v2/namespaces`. Any broker answers: nothing here needs a topic's owner. */
export function addNamespaceRoutes(router: Router, context: RouteContext): void {
  const { broker } = context;
  const { directory } = broker;
  const policiesOf = (call: Call) => requireNamespace(broker, call.namespaceName());
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
    .add('GET', `${one}/properties`, async (call) => jsonAnswer((await policiesOf(call)).properties ?? {}))
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
  const { directory } = broker;
  const [tenant] = name.split('/') as [string];
  if ((await directory.tenant(tenant)) === undefined) throw new Refused(404, 'Tenant does not exist');
  await directory.createNamespace(name, policiesIn(call));
  return noContent;
}

/** A body that is no Policies object at all. What it may say is the directory's business. */
function policiesIn(call: Call): Record<string, unknown> {
  const body = call.json();
  if (body === undefined || body === null) return {};
  if (!isJsonObject(body)) throw new Unreadable('Policies is a JSON object');
  const { bundles, replication_clusters: clusters, properties } = body;
  if (isGiven(bundles) && !(isJsonObject(bundles) && isWholeNumber(bundles.numBundles))) {
    throw new Unreadable('bundles is a JSON object, and its numBundles a whole number');
  }
  if (isGiven(clusters) && !(Array.isArray(clusters) && clusters.every(isText))) throw new Unreadable('replication_clusters is an array of texts');
  if (isGiven(properties) && !(isJsonObject(properties) && Object.values(properties).every(isText))) {
    throw new Unreadable('properties is an object of texts');
  }
  return body;
}

function isGiven(value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && value !== null;
}

function isText(value: JsonValue): boolean {
  return typeof value === 'string';
}

function isWholeNumber(value: JsonValue | undefined): boolean {
  return !isGiven(value) || (typeof value === 'number' && Number.isInteger(value));
}
