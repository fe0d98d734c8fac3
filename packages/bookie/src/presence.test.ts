import { type BookieId, bookieId } from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import t from 'tap';
import type { BookieMetadata } from './bookie-api.js';
import { Presence } from './presence.js';

const b1 = bookieId('b1');
const at = { bookieId: b1, incarnation: 'i1', isWritable: true, address: '127.0.0.1:3181', httpAddress: '' };

/** A cluster of which the bookie is a member, until `onRegistered` takes it away. */
function cluster(onRegistered: (cookies: Map<BookieId, { bytes: Buffer; version: number }>) => void): BookieMetadata {
  const cookies = new Map([[b1, { bytes: Buffer.from('cookie'), version: 0 }]]);
  return {
    instanceId: async () => 'cluster-1',
    cookies: { read: async (id) => cookies.get(id), write: async () => undefined },
    register: async () => {
      onRegistered(cookies);
      return { setWritable: async () => undefined, close: async () => undefined };
    },
  };
}

t.test('presence: registered as a member → fine; decommissioned on the way → refused, as nobody counts on it any more', async (t) => {
  const still = cluster(() => undefined);
  await new Presence(still, silentLogger).register(at);
  const gone = cluster((cookies) => cookies.clear());
  await t.rejects(new Presence(gone, silentLogger).register(at), {
    code: 'BOOKIE_COOKIE_REFUSED',
    message: /decommissioned while it started.*bookieformat/s,
  });
});
