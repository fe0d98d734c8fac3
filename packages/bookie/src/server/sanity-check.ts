import {
  AppendBatchBuilder,
  type BookieCode,
  type BookieService,
  createDigest,
  decodeEntry,
  type EntryId,
  type LedgerId,
  masterKey,
  noEntry,
} from '@daybook/proto';
import type { Clock } from '@daybook/runtime';

export interface SanityResult {
  passed: boolean;
  readOnly: boolean;
  /** Why it did not pass. */
  reason?: string;
}

export interface SanityCheckOptions {
  service: BookieService;
  clock: Clock;
  isReadOnly(): boolean;
  /** Of a ledger without a record: garbage collection removes what the check leaves behind. */
  nextLedgerId(): Promise<LedgerId>;
}

const timeoutMs = 10_000;
const password = Buffer.from('sanity check');
const digest = createDigest('CRC32C', password);

/** Writes an entry to this bookie through its journal and reads it back. A read-only one only has to answer. */
export class SanityCheck {
  readonly #options: SanityCheckOptions;
  /** One ledger is enough for the life of the process. */
  #ledgerId: LedgerId | undefined;
  #nextEntryId = 0;

  constructor(options: SanityCheckOptions) {
    this.#options = options;
  }

  async run(): Promise<SanityResult> {
    const { service, isReadOnly } = this.#options;
    if (isReadOnly()) {
      const { code } = await service.info();
      return { passed: code === 'OK', readOnly: true, ...(code !== 'OK' && { reason: `it answers ${code}` }) };
    }
    const reason = await this.#writeAndRead();
    return { passed: reason === undefined, readOnly: false, ...(reason !== undefined && { reason }) };
  }

  async #writeAndRead(): Promise<string | undefined> {
    const { service, nextLedgerId, clock } = this.#options;
    this.#ledgerId ??= await nextLedgerId();
    const ledgerId = this.#ledgerId;
    const entryId = this.#nextEntryId++ as EntryId;
    const payload = Buffer.from(`sanity check ${entryId} at ${clock.wallMs()}`);
    const written = await this.#append(ledgerId, entryId, payload);
    if (written !== 'OK') {
      this.#ledgerId = undefined;
      this.#nextEntryId = 0;
      return `an entry cannot be written: ${written}`;
    }
    const { code, entries } = await service.read({ ledgerId, entryIds: [entryId], bytesMax: 64 * 1024 });
    const entry = entries[0];
    if (entry === undefined) return `the entry that was written cannot be read: ${code}`;
    return decodeEntry(entry, digest, ledgerId, entryId).payload.equals(payload) ? undefined : 'what was read is not what was written';
  }

  #append(ledgerId: LedgerId, entryId: EntryId, payload: Buffer): Promise<BookieCode> {
    const { service, clock } = this.#options;
    const builder = new AppendBatchBuilder({ ledgerId, masterKey: masterKey(password), isRecovery: false, digest, batchBytesLimit: 64 * 1024 });
    builder.add(entryId, noEntry, payload.length, payload);
    return new Promise((resolve) => {
      const timer = clock.after(timeoutMs, () => resolve('TIMEOUT'));
      service.append(builder.finish(), (code) => {
        timer.cancel();
        resolve(code);
      });
    });
  }
}
