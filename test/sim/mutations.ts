import type { MetadataStore } from '@daybook/metadata';
import { type AppendBatch, type BookieCode, type BookieService, decodeAppendBatch, type ReadReply } from '@daybook/proto';
import type { Disk, DiskFile } from '@daybook/runtime';
import type { Mutation } from './mutation.js';

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

const isNegative = (code: BookieCode) => code === 'NO_ENTRY' || code === 'NO_LEDGER';
const isUnknown = (code: BookieCode) => code !== 'OK' && !isNegative(code) && code !== 'FENCED' && code !== 'UNAUTHORIZED';

function storeLike(inner: MetadataStore, change: Partial<MetadataStore>): MetadataStore {
  return {
    get session() {
      return inner.session;
    },
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
    name: 'recovery reads do not fence',
    isRare: true,
    connection: (inner) => changed(inner, { read: ({ ledgerId, entryIds, bytesMax }) => inner.read({ ledgerId, entryIds, bytesMax }) }),
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
];
