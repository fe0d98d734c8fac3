import { topicErrors } from '../../topic/errors.js';
import { jsonAnswer, textAnswer } from '../answer.js';
import type { Call } from '../call.js';
import type { Router } from '../router.js';
import type { RouteContext } from './route-context.js';

const one = '/lookup/v2/topic/:domain/:tenant/:namespace/:topic';

/** `/lookup/v2`: which broker serves a topic. There is no binary protocol yet, so that the addresses for it are empty. */
export function addLookupRoutes(router: Router, { broker }: RouteContext): void {
  const nameOf = (call: Call) => call.topic(call.parameter('domain'));
  router
    .add('GET', one, async (call) => {
      const name = nameOf(call);
      if ((await broker.directory.namespace(name.namespaceName)) === undefined) throw topicErrors.NAMESPACE_NOT_FOUND();
      const owner = await broker.owner(name);
      return jsonAnswer({ brokerUrl: '', httpUrl: `http://${owner.brokerId}`, nativeUrl: '', brokerUrlSsl: '' });
    })
    .add('GET', `${one}/bundle`, (call) => textAnswer(200, broker.bundleOf(nameOf(call))));
}
