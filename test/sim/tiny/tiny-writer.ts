import {
  BatchQueue,
  newWriterState,
  type PendingBatch,
  step,
  type WriterEffect,
  type WriterEvent,
  type WriterState,
  withEnsembleFrom,
} from '@daybook/ledger/testing';
import type { BookieId, EntryId, LedgerMetadata } from '@daybook/proto';
import type { Message } from './tiny-bookie.js';
import { type Choice, type ProtocolOptions, placesIn, type TinyNet } from './tiny-net.js';

export const noLimits = { appendTimeoutMs: 1, quorumTimeoutMs: 1, lagBytesMax: 1, lagMsMax: 1 };

export interface TinyBatch extends PendingBatch {
  readonly lac: number;
}

export function batchOf(number: number, entryId: number, lac: number): TinyBatch {
  return { number, firstEntryId: entryId, lastEntryId: entryId, bytes: 1, lengthUpTo: entryId + 1, builtAtMs: 0, lac };
}

export function sizesOf(options: ProtocolOptions) {
  const ackQuorumSize = options.defect === 'Qa - 1' ? options.ackQuorumSize - 1 : options.ackQuorumSize;
  return { ensembleSize: options.ensembleSize, writeQuorumSize: options.writeQuorumSize, ackQuorumSize };
}

/** What there is to say about a writer's state; two that are alike here behave alike. */
export function fingerprintOf({ phase, lastConfirmed, lastAppended, nextConfirm, batches }: WriterState<TinyBatch>): string {
  return `${phase.at}.${lastConfirmed}.${lastAppended}.${nextConfirm}.${batches.firstNumber}`;
}

export function memberView({ members, ackedUpTo }: WriterState<TinyBatch>, bookieId: BookieId): string {
  const index = members.findIndex((member) => member.identity.bookieId === bookieId);
  const member = members[index];
  return member === undefined ? '' : `${member.isFailed ? 'x' : ''}${member.admission}.${member.nextAnswer}.${ackedUpTo[index]}`;
}

export function cloneOf(state: WriterState<TinyBatch>): WriterState<TinyBatch> {
  const batches = new BatchQueue<TinyBatch>();
  for (let number = 0; number < state.batches.nextNumber; number++) {
    const batch = state.batches.get(number);
    batches.push(batch ?? batchOf(number, 0, 0));
    if (batch === undefined) batches.dropFirst();
  }
  return { ...state, members: state.members.map((member) => ({ ...member })), ackedUpTo: [...state.ackedUpTo], batches };
}

/** The ledger's writer: the real state machine, with steps of the ensemble change and the close as single choices. */
export class TinyWriter {
  readonly name = 'w';
  state: WriterState<TinyBatch>;
  confirmed = -1;
  readonly #net: TinyNet;
  /** What it believes is stored. */
  #record: LedgerMetadata;
  #version = 0;
  #change: { index: number; to: BookieId } | undefined;
  #isEnded = false;

  constructor(net: TinyNet, from?: TinyWriter) {
    this.#net = net;
    this.#record = net.record;
    if (from !== undefined) {
      this.state = cloneOf(from.state);
      this.confirmed = from.confirmed;
      this.#record = from.#record;
      this.#version = from.#version;
      this.#change = from.#change;
      this.#isEnded = from.#isEnded;
      return;
    }
    const members = net.record.segments[0]?.ensemble.map((bookieId) => ({ bookieId, incarnation: '1' })) ?? [];
    this.state = newWriterState({ sizes: sizesOf(net.options), limits: noLimits, members, lastConfirmed: -1, lengthConfirmed: 0, nowMs: 0 });
  }

  clone(net: TinyNet): TinyWriter {
    return new TinyWriter(net, this);
  }

  fingerprint(): string {
    return `${fingerprintOf(this.state)}.${this.confirmed}.${this.#version}.${this.#record.state}.${this.#isEnded}`;
  }

  viewOf(bookieId: BookieId): string {
    return `${memberView(this.state, bookieId)}.${placesIn(this.#record, bookieId)}.${this.#change?.to === bookieId ? 'new' : ''}`;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  awaits({ admission, index }: Message): boolean {
    return !this.#isEnded && this.state.members[index]?.admission === admission;
  }

  choices(): Choice[] {
    if (this.#isEnded) return [];
    const { at } = this.state.phase;
    if (at === 'failed') return [];
    if (at === 'changing') return [{ text: () => 'w stores its ensemble change', run: () => this.#store() }];
    const choices = [{ text: () => 'w closes', run: () => this.#close() }];
    const { lastAppended, lastConfirmed } = this.state;
    if (lastAppended + 1 < this.#net.options.entriesCount)
      choices.push({ text: () => `w appends (confirmed ${lastConfirmed})`, run: () => this.#append() });
    const change = this.#plan();
    if (change !== undefined)
      choices.push({ text: () => `w begins to put ${change.to} in the place of index ${change.index}`, run: () => this.#begin(change) });
    return choices;
  }

  heard({ index, admission, entryId, reply }: Message): void {
    if (this.#isEnded || reply === undefined) return;
    const batch = this.state.batches.get(entryId as number);
    if (batch === undefined) return;
    this.#apply({ kind: 'answered', index, admission: admission as number, batch, code: reply.code, nowMs: 0 });
  }

  #append(): void {
    const entryId = this.state.lastAppended + 1;
    this.#apply({ kind: 'append', batch: batchOf(entryId, entryId, this.state.lastConfirmed) });
  }

  #plan(): { index: number; to: BookieId } | undefined {
    const index = this.state.members.findIndex((member) => member.isFailed);
    const used = new Set(this.state.members.map((member) => member.identity.bookieId));
    const spare = this.#net.bookies.find(({ id, isLimbo }) => !used.has(id) && !isLimbo);
    return index === -1 || spare === undefined ? undefined : { index, to: spare.id };
  }

  #begin(change: { index: number; to: BookieId }): void {
    if (this.#net.options.defect === 'confirms while changing') this.#change = change;
    else {
      this.#apply({ kind: 'change-began' });
      this.#change = change;
    }
    if (this.#net.options.defect === 'confirms while changing') this.#store();
  }

  /** Compare-and-set, and what follows from how it went (ensemble-change.ts). */
  #store(): void {
    const change = this.#change as { index: number; to: BookieId };
    for (let attempt = 0; attempt < 2; attempt++) {
      if (this.#record.state !== 'OPEN') {
        this.#fail();
        return;
      }
      const ensemble = [...(this.#record.segments.at(-1)?.ensemble ?? [])];
      ensemble[change.index] = change.to;
      const first = this.#net.options.defect === 'confirms while changing' ? this.state.lastConfirmed + 2 : this.state.lastConfirmed + 1;
      const next = withEnsembleFrom(this.#record, first as EntryId, ensemble);
      const version = this.#net.write(next, this.#version);
      if (version !== undefined) {
        this.#record = next;
        this.#version = version;
        this.#change = undefined;
        if (this.state.phase.at !== 'changing') this.#apply({ kind: 'change-began' });
        const members = ensemble.map((bookieId) => ({ bookieId, incarnation: '1' }));
        this.#apply({ kind: 'change-ended', members, nowMs: 0 });
        return;
      }
      this.#record = this.#net.record;
      this.#version = this.#net.version;
    }
  }

  #fail(): void {
    this.#apply({ kind: 'stop', error: new Error('fenced') });
    this.#isEnded = true;
  }

  /** As close-ledger.ts does it. */
  #close(): void {
    const end = { lastEntryId: this.state.lastConfirmed as EntryId, length: this.state.lastConfirmed + 1 };
    this.#apply({ kind: 'close' });
    this.#isEnded = true;
    const closed = (record: LedgerMetadata): LedgerMetadata => ({ ...record, state: 'CLOSED', ...end });
    if (this.#net.write(closed(this.#record), this.#version) !== undefined) return;
    const now = this.#net.record;
    if (now.state === 'OPEN') this.#net.write(closed(now), this.#net.version);
  }

  #apply(event: WriterEvent<TinyBatch>): void {
    const effects: WriterEffect<TinyBatch>[] = [];
    step(this.state, event, effects);
    for (const effect of effects) {
      if (effect.kind === 'send') {
        const { index, admission, batch } = effect;
        const bookie = this.state.members[index]?.identity.bookieId as BookieId;
        this.#net.send({ kind: 'append', from: this.name, bookie, entryId: batch.firstEntryId, lac: batch.lac, index, admission });
      } else if (effect.kind === 'confirmed') this.confirmed = Math.max(this.confirmed, effect.upTo);
      else if (effect.kind === 'failed') this.#isEnded = true;
    }
  }
}
