import {
  canReachAckQuorum,
  closedRecord,
  isCovered,
  judgeEntry,
  newWriterState,
  type ReplicaAnswer,
  step,
  type WriterEffect,
  type WriterEvent,
  type WriterState,
  withEnsembleFrom,
} from '@daybook/ledger/testing';
import { type BookieId, type EntryId, isNegative, type LedgerMetadata } from '@daybook/proto';
import type { Message, TinyReply } from './tiny-bookie.js';
import { type Choice, placesIn, type TinyNet } from './tiny-net.js';
import { batchOf, cloneOf, fingerprintOf, memberView, noLimits, sizesOf, type TinyBatch } from './tiny-writer.js';

type Phase = 'begin' | 'fence' | 'read' | 'settle' | 'close' | 'done';

/** Recovery as recovery-op.ts and recovery-writer.ts do it, entry by entry, over the real decisions. */
export class TinyRecoverer {
  readonly name: string;
  /** Entries it ruled absent. */
  readonly absent = new Set<number>();
  readonly #net: TinyNet;
  #phase: Phase = 'begin';
  #record: LedgerMetadata | undefined;
  /** With ensembles of its own. */
  #private: LedgerMetadata | undefined;
  #version = 0;
  #replies: (TinyReply | undefined)[] = [];
  #answers: ReplicaAnswer[] = [];
  #foundLac = -1;
  #state: WriterState<TinyBatch> | undefined;
  #attempts = 0;

  constructor(net: TinyNet, name: string) {
    this.#net = net;
    this.name = name;
  }

  clone(net: TinyNet): TinyRecoverer {
    const copy = new TinyRecoverer(net, this.name);
    for (const entryId of this.absent) copy.absent.add(entryId);
    copy.#phase = this.#phase;
    copy.#record = this.#record;
    copy.#private = this.#private;
    copy.#version = this.#version;
    copy.#replies = [...this.#replies];
    copy.#answers = [...this.#answers];
    copy.#foundLac = this.#foundLac;
    copy.#state = this.#state && cloneOf(this.#state);
    copy.#attempts = this.#attempts;
    return copy;
  }

  fingerprint(): string {
    const state = this.#state === undefined ? '' : fingerprintOf(this.#state);
    return `${this.#phase}.${this.#version}.${[...this.absent]}.${state}.${this.#attempts}.${this.#foundLac}`;
  }

  viewOf(bookieId: BookieId): string {
    const index = this.#ensemble.indexOf(bookieId);
    const reply = this.#replies[index];
    const heard = `${reply?.code ?? ''}${reply?.lac ?? ''}.${this.#answers[index] ?? ''}`;
    const member = this.#state === undefined ? '' : memberView(this.#state, bookieId);
    return `${heard}.${member}.${placesIn(this.#record, bookieId)}.${placesIn(this.#private, bookieId)}`;
  }

  get isEnded(): boolean {
    return this.#phase === 'done' || (this.#phase === 'begin' && this.#attempts >= 2);
  }

  awaits({ kind, entryId, index, admission }: Message): boolean {
    if (this.isEnded) return false;
    if (kind === 'fence') return this.#phase === 'fence';
    if (kind === 'read') return this.#phase === 'read' && entryId === this.#next;
    return this.#state?.members[index]?.admission === admission;
  }

  choices(): Choice[] {
    if (this.#phase === 'begin' && this.#attempts < 2) return [{ text: () => `${this.name} begins`, run: () => this.#begin() }];
    if (this.#phase === 'close') return [{ text: () => `${this.name} closes`, run: () => this.#close() }];
    return [];
  }

  heard(message: Message): void {
    const { kind, index, reply, entryId, admission } = message;
    if (reply === undefined) return;
    if (kind === 'fence' && this.#phase === 'fence') this.#fenced(index, reply);
    else if (kind === 'read' && this.#phase === 'read' && entryId === this.#next) this.#read(index, reply);
    else if (kind === 'append' && this.#state !== undefined) {
      const batch = this.#state.batches.get(this.#state.batches.firstNumber + ((entryId as number) - (this.#firstKept() ?? 0)));
      if (batch !== undefined) this.#apply({ kind: 'answered', index, admission: admission as number, batch, code: reply.code, nowMs: 0 });
    }
  }

  get #next(): number {
    return (this.#state?.lastAppended ?? -1) + 1;
  }

  #firstKept(): number | undefined {
    return this.#state?.batches.get(this.#state.batches.firstNumber)?.firstEntryId;
  }

  /** Reads the record and marks it, in one step: whoever comes between only makes it begin again. */
  #begin(): void {
    this.#attempts++;
    const { record, version } = this.#net;
    if (record.state === 'CLOSED') {
      this.#phase = 'done';
      return;
    }
    this.#record = { ...record, state: 'IN_RECOVERY' };
    this.#version = record.state === 'IN_RECOVERY' ? version : (this.#net.write(this.#record, version) as number);
    this.#private = this.#record;
    this.#phase = 'fence';
    this.#replies = this.#ensemble.map(() => undefined);
    for (const [index, bookie] of this.#ensemble.entries()) this.#net.send({ kind: 'fence', from: this.name, bookie, index });
  }

  get #ensemble(): readonly BookieId[] {
    return this.#record?.segments.at(-1)?.ensemble ?? [];
  }

  #fenced(index: number, reply: TinyReply): void {
    this.#replies[index] = reply;
    const definite = this.#replies.map((known) => known !== undefined && (known.code === 'OK' || isNegative(known.code)));
    if (isCovered(sizesOf(this.#net.options), definite)) this.#startReading();
    else if (this.#replies.every((known) => known !== undefined)) this.#phase = 'done';
  }

  #startReading(): void {
    const first = this.#record?.segments.at(-1)?.firstEntryId ?? 0;
    const lastConfirmed = Math.max(first - 1, ...this.#replies.map((reply) => reply?.lac ?? -1));
    const members = this.#ensemble.map((bookieId) => ({ bookieId, incarnation: '1' }));
    this.#state = newWriterState({ sizes: sizesOf(this.#net.options), limits: noLimits, members, lastConfirmed, lengthConfirmed: 0, nowMs: 0 });
    this.#replies = [];
    this.#ask();
  }

  #ask(): void {
    this.#phase = 'read';
    this.#answers = this.#ensemble.map(() => 'PENDING');
    for (const [index, bookie] of this.#ensemble.entries()) this.#net.send({ kind: 'read', from: this.name, bookie, index, entryId: this.#next });
  }

  #read(index: number, reply: TinyReply): void {
    this.#answers[index] = reply.code;
    if (reply.lac !== undefined) this.#foundLac = reply.lac;
    const sizes = sizesOf(this.#net.options);
    const judged = this.#net.options.defect === 'Qw - Qa negatives' ? { ...sizes, ackQuorumSize: sizes.ackQuorumSize + 1 } : sizes;
    switch (judgeEntry(judged, this.#answers)) {
      case 'found': {
        const state = this.#state as WriterState<TinyBatch>;
        this.#apply({ kind: 'append', batch: batchOf(state.batches.nextNumber, this.#next, this.#foundLac) });
        if (this.#phase === 'read') this.#ask();
        break;
      }
      case 'absent':
        this.absent.add(this.#next);
        this.#phase = 'settle';
        this.#settle();
        break;
      case 'unknown':
        this.#phase = 'done';
        break;
      case 'undecided':
        break;
    }
  }

  #settle(): void {
    const state = this.#state as WriterState<TinyBatch>;
    if (this.#phase === 'settle' && state.lastConfirmed === state.lastAppended) this.#phase = 'close';
  }

  #close(): void {
    const lastEntryId = (this.#next - 1) as EntryId;
    const closed = closedRecord(this.#private as LedgerMetadata, { lastEntryId, length: lastEntryId + 1 });
    this.#phase = this.#net.write(closed, this.#version) === undefined ? 'begin' : 'done';
    this.#state = undefined;
    // Begun anew it decides anew.
    if (this.#phase === 'begin') this.absent.clear();
  }

  #apply(event: WriterEvent<TinyBatch>): void {
    const state = this.#state as WriterState<TinyBatch>;
    const effects: WriterEffect<TinyBatch>[] = [];
    step(state, event, effects);
    let hasFailed = false;
    for (const effect of effects) {
      if (effect.kind === 'send') {
        const { index, admission, batch } = effect;
        const bookie = state.members[index]?.identity.bookieId as BookieId;
        this.#net.send({ kind: 'append', from: this.name, bookie, entryId: batch.firstEntryId, lac: batch.lac, index, admission, isRecovery: true });
      } else if (effect.kind === 'member-failed') hasFailed = true;
      else if (effect.kind === 'failed') this.#phase = 'done';
    }
    if (hasFailed && this.#phase !== 'done') this.#replaceFailed(state);
    this.#settle();
  }

  /** In memory, until the ledger is closed. */
  #replaceFailed(state: WriterState<TinyBatch>): void {
    const ensemble = state.members.map((member) => member.identity.bookieId);
    const members = state.members.map((member) => member.identity);
    for (const [index, member] of state.members.entries()) {
      const spare = this.#net.bookies.find(({ id, isLimbo }) => !ensemble.includes(id) && !isLimbo);
      if (!member.isFailed || spare === undefined) continue;
      ensemble[index] = spare.id;
      members[index] = { bookieId: spare.id, incarnation: '1' };
    }
    const isChanged = members.some((member, index) => member.bookieId !== state.members[index]?.identity.bookieId);
    if (isChanged) {
      this.#apply({ kind: 'change-began' });
      this.#private = withEnsembleFrom(this.#private as LedgerMetadata, (state.lastConfirmed + 1) as EntryId, ensemble);
      this.#apply({ kind: 'change-ended', members, nowMs: 0 });
    }
    const live = state.members.map((member) => !member.isFailed);
    if (!canReachAckQuorum(sizesOf(this.#net.options), live)) this.#phase = 'done';
  }
}
