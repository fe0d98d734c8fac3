import type { MetadataStore } from '@daybook/metadata';
import {
  type AppendBatch,
  type BookieCode,
  type BookieService,
  createDigest,
  decodeAppendBatch,
  entryHeaderBytes,
  type ReadReply,
} from '@daybook/proto';
import type { Disk, DiskFile } from '@daybook/runtime';
import type { Mutation } from './mutation.js';
import { password } from './workload.js';

const digest = createDigest('CRC32C', password);

/** A service like `inner` but for some methods. */
function changed(inner: BookieService, change: Partial<BookieService>): BookieService {
  return {
    bookieId: inner.bookieId,
    append: (batch, done) => inner.append(batch, done),
    read: (request) => inner.read(request),
    fence: (request) => inner.fence(request),
    readLac: (ledgerId) => inner.readLac(ledgerId),
    awaitLac: (request, stop) => inner.awaitLac(request, stop),
    writeLac: (request) => inner.writeLac(request),
    force: (request) => inner.force(request),
    listEntries: (ledgerId) => inner.listEntries(ledgerId),
    info: () => inner.info(),
    ...change,
  };
}

function asRecovery(batch: AppendBatch): AppendBatch {
  const bytes = Buffer.from(batch.bytes);
  bytes[1] = 1;
  return decodeAppendBatch(bytes);
}

function asNegative<T extends { code: BookieCode }>(reply: T): T {
  return reply.code === 'UNKNOWN_LEDGER_STATE' ? { ...reply, code: 'NO_ENTRY' } : reply;
}

const isNegative = (code: BookieCode) => code === 'NO_ENTRY' || code === 'NO_LEDGER';
const isUnknown = (code: BookieCode) => code !== 'OK' && !isNegative(code) && code !== 'FENCED' && code !== 'UNAUTHORIZED';

function storeLike(inner: MetadataStore, change: Partial<MetadataStore>): MetadataStore {
  return {
    get session() {
      return inner.session;
    },
    sessionTimeoutMs: inner.sessionTimeoutMs,
    get: (path) => inner.get(path),
    put: (path, value, expected, options) => inner.put(path, value, expected, options),
    delete: (path, expected) => inner.delete(path, expected),
    children: (path) => inner.children(path),
    watch: (path, listener) => inner.watch(path, listener),
    onSession: (listener) => inner.onSession(listener),
    close: () => inner.close(),
    ...change,
  };
}

function fileWithoutSync(file: DiskFile): DiskFile {
  return {
    path: file.path,
    bytes: () => file.bytes(),
    readAt: (position, target) => file.readAt(position, target),
    writeAt: (position, source) => file.writeAt(position, source),
    sync: () => Promise.resolve(),
    truncate: (bytes) => file.truncate(bytes),
    close: () => file.close(),
  };
}

function fileWithLateSync(file: DiskFile): DiskFile {
  const inner = fileWithoutSync(file);
  return {
    ...inner,
    sync: () => {
      void syncLater(file).catch(() => undefined);
      return Promise.resolve();
    },
  };
}

/** Some milliseconds after it was asked for. */
async function syncLater(file: DiskFile): Promise<void> {
  for (let i = 0; i < 100; i++) await file.readAt(0, Buffer.alloc(1));
  await file.sync();
}

function diskLike(inner: Disk, change: Partial<Disk>): Disk {
  return {
    open: (path, options) => inner.open(path, options),
    rename: (from, to) => inner.rename(from, to),
    remove: (path) => inner.remove(path),
    makeDirectory: (path) => inner.makeDirectory(path),
    list: (directory) => inner.list(directory),
    fileBytes: (path) => inner.fileBytes(path),
    syncDirectory: (directory) => inner.syncDirectory(directory),
    usage: (directory) => inner.usage(directory),
    lock: (path) => inner.lock(path),
    ...change,
  };
}

/** Deliberate defects, each of which the simulator has to find (docs/internals/simulation.md lists after how many seeds). */
export const mutations: readonly Mutation[] = [
  {
    name: 'bookie acknowledges before the entries are durable',
    bookie: (inner) =>
      changed(inner, {
        append: (batch, done) => {
          queueMicrotask(() => done('OK'));
          inner.append(decodeAppendBatch(Buffer.from(batch.bytes)), () => undefined);
        },
      }),
  },
  {
    name: 'journal is not synced',
    disk: (inner) => diskLike(inner, { open: (path, options) => inner.open(path, { ...options, syncEachWrite: false }) }),
  },
  {
    name: 'entry logs, index and checkpoint are not synced',
    disk: (inner) =>
      diskLike(inner, {
        open: async (path, options) => (options?.syncEachWrite ? inner.open(path, options) : fileWithoutSync(await inner.open(path, options))),
      }),
  },
  {
    name: 'bookie ignores fences',
    bookie: (inner) => changed(inner, { append: (batch, done) => inner.append(asRecovery(batch), done) }),
  },
  {
    name: 'bookie answers "no entry" when it cannot read',
    bookie: (inner) =>
      changed(inner, {
        read: async (request): Promise<ReadReply> => {
          const reply = await inner.read(request);
          return isUnknown(reply.code) ? { code: 'NO_ENTRY', entries: [] } : reply;
        },
      }),
  },
  {
    name: 'client takes silence for "no entry"',
    connection: (inner) =>
      changed(inner, {
        read: async (request): Promise<ReadReply> => {
          const reply = await inner.read(request);
          return isUnknown(reply.code) ? { code: 'NO_ENTRY', entries: [] } : reply;
        },
      }),
  },
  {
    name: 'recovery does not fence',
    connection: (inner) =>
      changed(inner, {
        fence: ({ ledgerId }) => inner.readLac(ledgerId),
        read: ({ ledgerId, entryIds, bytesMax }) => inner.read({ ledgerId, entryIds, bytesMax }),
      }),
  },
  {
    name: 'client counts an append without an answer as stored',
    connection: (inner) =>
      changed(inner, { append: (batch, done) => inner.append(batch, (code) => done(code === 'TIMEOUT' || code === 'UNAVAILABLE' ? 'OK' : code)) }),
  },
  {
    name: 'writer acknowledges at Qa - 1',
    records: (inner) => ({
      nextLedgerId: () => inner.nextLedgerId(),
      create: async (ledgerId, metadata) => {
        const stored = await inner.create(ledgerId, metadata);
        const ackQuorumSize = Math.max(1, metadata.ackQuorumSize - 1);
        return { ...stored, metadata: { ...stored.metadata, ackQuorumSize } };
      },
      read: (ledgerId) => inner.read(ledgerId),
      write: (ledgerId, metadata, version) => inner.write(ledgerId, metadata, version),
      delete: (ledgerId) => inner.delete(ledgerId),
      list: () => inner.list(),
      watch: (ledgerId, listener) => inner.watch(ledgerId, listener),
    }),
  },
  {
    name: 'metadata is written without compare-and-set',
    store: (inner) =>
      storeLike(inner, { put: (path, value, expected, options) => inner.put(path, value, typeof expected === 'number' ? 'any' : expected, options) }),
  },
  {
    name: 'ensemble changes are not stored',
    records: (inner) => ({
      nextLedgerId: () => inner.nextLedgerId(),
      create: (ledgerId, metadata) => inner.create(ledgerId, metadata),
      read: (ledgerId) => inner.read(ledgerId),
      write: async (ledgerId, metadata, version) => {
        if (metadata.state !== 'OPEN') return inner.write(ledgerId, metadata, version);
        const stored = await inner.read(ledgerId);
        return stored?.version === version ? { metadata, version } : inner.write(ledgerId, metadata, version);
      },
      delete: (ledgerId) => inner.delete(ledgerId),
      list: () => inner.list(),
      watch: (ledgerId, listener) => inner.watch(ledgerId, listener),
    }),
  },
  {
    name: 'cursor says that it is flushed when it is not',
    cursor: (inner) => ({
      flush: async () => {
        void inner.flush().catch(() => undefined);
      },
    }),
  },
  {
    name: 'bookie forgets its fences when it restarts',
    bookie: (inner) => {
      const fenced = new Set<number>();
      return changed(inner, {
        append: (batch, done) => inner.append(fenced.has(batch.ledgerId) ? batch : asRecovery(batch), done),
        fence: (request) => {
          fenced.add(request.ledgerId);
          return inner.fence(request);
        },
        read: (request) => {
          if (request.fenceWithKey !== undefined) fenced.add(request.ledgerId);
          return inner.read(request);
        },
      });
    },
  },
  {
    name: 'checkpoint is published before the entry logs are synced',
    disk: (inner) =>
      diskLike(inner, {
        open: async (path, options) => (options?.syncEachWrite ? inner.open(path, options) : fileWithLateSync(await inner.open(path, options))),
      }),
  },
  {
    name: 'a ledger is closed at the own end although somebody else changed its record',
    records: (inner) => ({
      nextLedgerId: () => inner.nextLedgerId(),
      create: (ledgerId, metadata) => inner.create(ledgerId, metadata),
      read: (ledgerId) => inner.read(ledgerId),
      write: async (ledgerId, metadata, version) => {
        const stored = metadata.state === 'CLOSED' ? await inner.read(ledgerId) : undefined;
        return inner.write(ledgerId, metadata, stored?.version ?? version);
      },
      delete: (ledgerId) => inner.delete(ledgerId),
      list: () => inner.list(),
      watch: (ledgerId, listener) => inner.watch(ledgerId, listener),
    }),
  },
  {
    // The client checks what is right by then.
    name: 'the digest of an entry is not checked',
    connection: (inner) =>
      changed(inner, {
        read: async (request): Promise<ReadReply> => {
          const reply = await inner.read(request);
          for (const entry of reply.entries) {
            const payloadOffset = entryHeaderBytes + digest.bytes;
            if (entry.length >= payloadOffset) digest.write(entry, 0, entryHeaderBytes, payloadOffset, entry.length - payloadOffset);
          }
          return reply;
        },
      }),
  },
  {
    name: 'garbage collection trusts a partial listing',
    world: 'cluster',
    listing: (inner) => {
      const listed = new Set<number>();
      return {
        list: async function* () {
          listed.clear();
          try {
            for await (const ledgerId of inner.list()) {
              listed.add(ledgerId);
              yield ledgerId;
            }
          } catch {
            // What came so far will do.
          }
        },
        read: (ledgerId) => (listed.has(ledgerId) ? inner.read(ledgerId) : Promise.resolve(undefined)),
      };
    },
  },
  {
    name: 'a wiped bookie is trusted under its old name',
    world: 'cluster',
    cookies: (inner) => {
      let isJoined = false;
      return {
        read: (bookieId) => (isJoined ? inner.read(bookieId) : Promise.resolve(undefined)),
        write: async (bookieId, bytes) => {
          const stored = await inner.read(bookieId);
          await inner.write(bookieId, bytes, stored?.version ?? 'absent');
          isJoined = true;
        },
        delete: (bookieId, expected) => inner.delete(bookieId, expected),
        list: () => inner.list(),
      };
    },
  },
  {
    name: 'a bookie in limbo says that what it lacks is not there',
    world: 'cluster',
    bookie: (inner) =>
      changed(inner, {
        read: async (request): Promise<ReadReply> => asNegative(await inner.read(request)),
        fence: async (request) => asNegative(await inner.fence(request)),
        readLac: async (ledgerId) => asNegative(await inner.readLac(ledgerId)),
      }),
  },
  {
    name: 'repair changes the metadata before the copies are there',
    world: 'cluster',
    connection: (inner, node) =>
      node.startsWith('ar')
        ? changed(inner, {
            append: (batch, done) => {
              inner.append(decodeAppendBatch(Buffer.from(batch.bytes)), () => undefined);
              queueMicrotask(() => done('OK'));
            },
          })
        : inner,
  },
];
