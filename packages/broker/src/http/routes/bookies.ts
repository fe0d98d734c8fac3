import { type BookieRack, type BookieRacks, bookieRackOf, withBookieRack, withoutBookieRack } from '@daybook/metadata';
import { type BookieId, bookieId } from '@daybook/proto';
import { jsonAnswer, noContent, Refused } from '../answer.js';
import type { Call } from '../call.js';
import { isJsonObject } from '../json-body.js';
import type { Router } from '../router.js';
import type { RouteContext } from './route-context.js';

const root = '/admin/v2/bookies';

/** `/admin/v2/bookies`: who is there, and in which racks. Ledger clients and repair follow what is set here. */
export function addBookieRoutes(router: Router, { broker }: RouteContext): void {
  const { bookies, racks } = broker;
  const set = async (call: Call) => {
    const id = bookieOf(call);
    const group = call.query.get('group');
    if (group === undefined || group.trim() === '') throw new Refused(400, 'Bookie `group` parameters is missing');
    const rack = rackOf(call);
    await racks.update((all) => withBookieRack(all, group, id, rack));
    return noContent;
  };
  router
    .add('GET', `${root}/all`, () => jsonAnswer({ bookies: bookies.list().map((bookie) => ({ bookieId: bookie.bookieId })) }))
    .add('GET', `${root}/racks-info`, async () => jsonAnswer(await racks.read()))
    .add('GET', `${root}/racks-info/:bookie`, async (call) => jsonAnswer(existing(await racks.read(), bookieOf(call))))
    .add('DELETE', `${root}/racks-info/:bookie`, async (call) => {
      const id = bookieOf(call);
      await racks.update((all) => {
        existing(all, id);
        return withoutBookieRack(all, id);
      });
      return noContent;
    })
    .add('POST', `${root}/racks-info/:bookie`, set)
    .add('PUT', `${root}/racks-info/:bookie`, set);
}

function existing(racks: BookieRacks, id: BookieId): BookieRack {
  const rack = bookieRackOf(racks, id);
  if (rack === undefined) throw new Refused(404, `Bookie rack placement configuration not found: ${id}`);
  return rack;
}

function bookieOf(call: Call): BookieId {
  try {
    return bookieId(call.parameter('bookie'));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Refused(400, error.message);
  }
}

const lengthMax = 255;

/** Pulsar's BookieInfo. */
function rackOf(call: Call): BookieRack {
  const body = call.json();
  if (!isJsonObject(body)) throw new Refused(400, 'Say {"rack": "/region/rack", "hostname": "..."}');
  const { rack } = body;
  // Pulsar's own tool sends null for one that was not said.
  const hostname = body.hostname ?? '';
  if (typeof rack !== 'string' || rack.split('/').every((part) => part.trim() === '') || rack.length > lengthMax) {
    throw new Refused(400, "rack name is invalid, it should not be null, empty or '/': /region/rack or /rack");
  }
  if (typeof hostname !== 'string' || hostname.length > lengthMax) throw new Refused(400, 'hostname is a text');
  return { rack, hostname };
}
