import { paths } from '@daybook/metadata';
import type { Position } from '@daybook/proto';
import { AckSet } from './ack-set.js';
import type { LogContext } from './context.js';
import { type CursorLog, existingMark, LogCursor } from './cursor.js';
import { CursorRecord, cursorsOf, newCursorInfo } from './cursor-info.js';
import { recoverCursor } from './cursor-recovery.js';
import { CursorStore } from './cursor-store.js';
import type { LedgerList } from './ledger-list.js';
import type { ManagedLedgerOptions } from './managed-ledger-api.js';

export interface CursorsOwner extends CursorLog {
  readonly name: string;
  readonly options: ManagedLedgerOptions;
  readonly list: LedgerList;
  fenced(error: Error): void;
}

const recoveredAtOnceMax = 16;
const noCursors: ReadonlyMap<string, LogCursor> = new Map();

/** The cursors of a log by name. */
export class Cursors {
  readonly #context: LogContext;
  readonly #owner: CursorsOwner;
  /** Made for the first one: many logs have no cursor. */
  #durable: Map<string, LogCursor> | undefined;
  #opening: Map<string, Promise<LogCursor>> | undefined;

  constructor(context: LogContext, owner: CursorsOwner) {
    this.#context = context;
    this.#owner = owner;
  }

  get durable(): ReadonlyMap<string, LogCursor> {
    return this.#durable ?? noCursors;
  }

  /** Brings back all that the metadata names. Rejects when one cannot be read now: opening the log has to be tried again. */
  async recover(): Promise<void> {
    const found = await cursorsOf(this.#context, this.#owner.name);
    const next = found.values();
    const worker = async () => {
      for (const { name, path } of next) {
        const record = await CursorRecord.read(this.#context, this.#place(path));
        if (record !== undefined) await this.#recoverOne(name, record);
      }
    };
    await Promise.all(Array.from({ length: Math.min(recoveredAtOnceMax, found.length) }, worker));
  }

  open(name: string, initial: Position): Promise<LogCursor> {
    const known = this.durable.get(name);
    if (known !== undefined) return Promise.resolve(known);
    this.#opening ??= new Map();
    let opening = this.#opening.get(name);
    if (opening === undefined) {
      opening = this.#create(name, initial).finally(() => this.#opening?.delete(name));
      this.#opening.set(name, opening);
    }
    return opening;
  }

  openTransient(name: string, initial: Position): LogCursor {
    return new LogCursor(this.#owner, { name, acks: new AckSet(this.#owner.chain, existingMark(this.#owner, initial)) });
  }

  async delete(name: string): Promise<void> {
    await this.#opening?.get(name)?.catch(() => undefined);
    const cursor = this.#durable?.get(name);
    if (cursor === undefined) return;
    this.#durable?.delete(name);
    try {
      await cursor.store?.remove();
    } finally {
      this.#owner.cursorMoved();
    }
  }

  /** Stores all states for the next opener. */
  async close(): Promise<void> {
    await Promise.all([...this.durable.values()].map((cursor) => cursor.store?.close()));
  }

  abandon(error: Error): void {
    for (const cursor of this.durable.values()) cursor.store?.abandon(error);
  }

  async #create(name: string, initial: Position): Promise<LogCursor> {
    const info = newCursorInfo(existingMark(this.#owner, initial), this.#context.clock.wallMs());
    return this.#recoverOne(name, await CursorRecord.create(this.#context, this.#place(paths.cursor(this.#owner.name, name)), info));
  }

  async #recoverOne(name: string, record: CursorRecord): Promise<LogCursor> {
    const { chain, name: log, options, list } = this.#owner;
    const { acks, properties } = await recoverCursor(this.#context, { log, name, info: record.info, chain, current: () => record.reread() });
    const cursor = new LogCursor(this.#owner, { name, acks, properties });
    const owner = { log, cursor: name, options, list, state: () => ({ acks, properties }), fenced: (error: Error) => this.#owner.fenced(error) };
    cursor.keepIn(new CursorStore(this.#context, owner, record));
    this.#durable ??= new Map();
    this.#durable.set(name, cursor);
    return cursor;
  }

  #place(path: string): { list: LedgerList; path: string; log: string } {
    return { list: this.#owner.list, path, log: this.#owner.name };
  }
}
