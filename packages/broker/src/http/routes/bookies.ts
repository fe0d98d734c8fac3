import { jsonAnswer, notSupported, Refused } from '../answer.js';
import type { Router } from '../router.js';
import type { RouteContext } from './route-context.js';

const root = '/admin/v2/bookies';

/** `/admin/v2/bookies`. Racks cannot be set yet, so that none are. */
export function addBookieRoutes(router: Router, { broker }: RouteContext): void {
  const changes = () => {
    throw notSupported('Setting the rack of a bookie');
  };
  router
    .add('GET', `${root}/all`, () => jsonAnswer({ bookies: broker.bookies.list().map(({ bookieId }) => ({ bookieId })) }))
    .add('GET', `${root}/racks-info`, () => jsonAnswer({}))
    .add('GET', `${root}/racks-info/:bookie`, (call) => {
      throw new Refused(404, `Bookie rack placement configuration not found: ${call.parameter('bookie')}`);
    })
    .add('DELETE', `${root}/racks-info/:bookie`, (call) => {
      throw new Refused(404, `Bookie rack placement configuration not found: ${call.parameter('bookie')}`);
    })
    .add('POST', `${root}/racks-info/:bookie`, changes)
    .add('PUT', `${root}/racks-info/:bookie`, changes);
}
