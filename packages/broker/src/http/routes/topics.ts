import { topicErrors } from '../../topic/errors.js';
import { type Answer, jsonAnswer, noContent, notSupported, Refused } from '../answer.js';
import type { Call } from '../call.js';
import { isSystemTopic } from '../names.js';
import type { Router } from '../router.js';
import { internalStatsJson } from './internal-stats.js';
import { unsetAnswer } from './namespaces.js';
import { onOwner, onTopic, type RouteContext, requireNamespace, requireTopic } from './route-context.js';
import { addTopicProperties, propertiesOf } from './topic-properties.js';
import { withoutParts } from './topic-stats-options.js';
import { unsetTopicPolicies } from './unset-policies.js';

const namespace = '/admin/v2/persistent/:tenant/:namespace';
const one = `${namespace}/:topic`;

/** `/admin/v2/persistent`: topics themselves. Lists are answered by any broker, everything about one topic by its owner. */
export function addTopicRoutes(router: Router, context: RouteContext): void {
  const { broker } = context;
  router
    .add('GET', namespace, async (call) => {
      const name = call.namespaceName();
      await requireNamespace(broker, name);
      const bundle = call.query.get('bundle');
      const topics = await broker.topics.list(name);
      return jsonAnswer(bundle === undefined ? topics : topics.filter((full) => bundleOf(full, context) === bundle));
    })
    .add('GET', `${namespace}/partitioned`, async (call) => {
      await requireNamespace(broker, call.namespaceName());
      return jsonAnswer([]);
    })
    .add('PUT', one, (call) => createTopic(call, context))
    .add('DELETE', one, (call) => {
      const name = call.topic('persistent');
      return onOwner(context, call, name, async () => {
        await broker.topics.delete(name, { force: call.flag('force') });
        return noContent;
      });
    })
    .add('GET', `${one}/stats`, (call) =>
      onTopic(context, call, call.topic('persistent'), (topic) => jsonAnswer(withoutParts(topic.stats(), call.query))),
    )
    .add('GET', `${one}/internalStats`, (call) =>
      onTopic(context, call, call.topic('persistent'), (topic) => jsonAnswer(internalStatsJson(topic.internalStats()))),
    )
    .add('GET', `${one}/lastMessageId`, (call) => {
      const name = call.topic('persistent');
      return onTopic(context, call, name, ({ lastPosition: { ledgerId, entryId } }) =>
        jsonAnswer({ ledgerId, entryId, partitionIndex: name.partition ?? -1, batchSize: 0, batchIndex: -1 }),
      );
    })
    .add('PUT', `${one}/unload`, (call) => {
      const name = call.topic('persistent');
      return onOwner(context, call, name, async () => {
        await requireTopic(broker, name);
        await broker.topics.unload(name);
        return noContent;
      });
    });
  addTopicProperties(router, context);
  addPartitionRoutes(router, context);
  addUnsetPolicies(router, context);
  addNonPersistentRoutes(router, context);
  router.add('*', `${one}/*`, async (call) => {
    await requireTopic(broker, call.topic('persistent'));
    throw notSupported(`${call.method} ${call.segments.slice(6).join('/')} of a topic`);
  });
}

function bundleOf(full: string, { broker }: RouteContext): string | undefined {
  const [, tenant, space, local] = /^persistent:\/\/([^/]+)\/([^/]+)\/(.*)$/s.exec(full) ?? [];
  if (tenant === undefined || space === undefined || local === undefined) return undefined;
  return broker.bundleOf({ domain: 'persistent', tenant, namespace: space, local, partition: undefined, full, namespaceName: `${tenant}/${space}` });
}

const numericSuffix = /^(.*)-partition-(?:-?\d+)$/s;

async function createTopic(call: Call, context: RouteContext): Promise<Answer> {
  const name = call.topic('persistent');
  const properties = propertiesOf(call);
  const base = numericSuffix.exec(name.local)?.[1];
  if (base !== undefined) {
    throw new Refused(
      412,
      `Can't create topic ${name.local} with "-partition-" followed by numeric value if there isn't a partitioned topic ${base} created.`,
    );
  }
  if (isSystemTopic(name)) throw topicErrors.EXISTS();
  return onOwner(context, call, name, async () => {
    await context.broker.topics.create(name, properties);
    return noContent;
  });
}

/** There are no partitioned topics yet, so that these answers are the truth about every topic. */
function addPartitionRoutes(router: Router, { broker }: RouteContext): void {
  const plain = { partitions: 0, deleted: false };
  router
    .add('GET', `${one}/partitions`, async (call) => {
      const name = call.topic('persistent');
      if (!call.flag('checkAllowAutoCreation')) await requireTopic(broker, name);
      return jsonAnswer(plain);
    })
    .add('PUT', `${one}/partitions`, () => {
      throw notSupported('Creating a partitioned topic');
    })
    .add('POST', `${one}/partitions`, (call) => {
      throw new Refused(409, `Topic ${call.topic('persistent').full} is not the partitioned topic.`);
    })
    .add('DELETE', `${one}/partitions`, async (call) => {
      const { full } = call.topic('persistent');
      if (!(await broker.topics.exists(call.topic('persistent')))) throw new Refused(404, `Topic ${full} not found.`);
      throw new Refused(409, `${full} is a non-partitioned topic. Instead of calling delete-partitioned-topic please call delete.`);
    });
  for (const stats of ['partitioned-stats', 'partitioned-internalStats']) {
    router.add('GET', `${one}/${stats}`, (call) => {
      throw new Refused(404, `Partitioned Topic ${call.topic('persistent').full} not found`);
    });
  }
}

function addUnsetPolicies(router: Router, { broker }: RouteContext): void {
  for (const [policy, answer] of Object.entries(unsetTopicPolicies)) {
    router.add('GET', `${one}/${policy}`, async (call) => {
      await requireTopic(broker, call.topic('persistent'));
      return unsetAnswer(answer);
    });
    for (const method of ['PUT', 'POST']) {
      router.add(method, `${one}/${policy}`, () => {
        throw notSupported(`Setting the topic policy ${policy}`);
      });
    }
    router.add('DELETE', `${one}/${policy}`, async (call) => {
      await requireTopic(broker, call.topic('persistent'));
      return noContent;
    });
  }
}

/** Non-persistent topics come later: there are none, and none can be made. */
function addNonPersistentRoutes(router: Router, { broker }: RouteContext): void {
  const root = '/admin/v2/non-persistent/:tenant/:namespace';
  for (const path of [root, `${root}/partitioned`]) {
    router.add('GET', path, async (call) => {
      await requireNamespace(broker, call.namespaceName());
      return jsonAnswer([]);
    });
  }
  for (const path of ['stats', 'subscriptions', 'internalStats', 'partitions']) {
    router.add('GET', `${root}/:topic/${path}`, (call) => {
      throw topicErrors.NOT_FOUND(call.topic('non-persistent').full);
    });
  }
  router.add('*', `${root}/*`, () => {
    throw notSupported('Non-persistent topics');
  });
}
