import { numberValue, parseTextFormat, quoteText, textValue } from '@daybook/proto';

/**
 * Values below `/ledgers/underreplication`, as BookKeeper has them (persisted).
 *
 * | key | value |
 * |---|---|
 * | `LAYOUT` | text: `type: "BASIC"`, `version: 1` |
 * | `ledgers/.../urL<id>` | text: one `replica: "<bookie>"` per missing bookie, `ctime: <ms>`; ours: comments `# damaged` when entries that are there cannot be read, `# misplaced` when copies lie in too few racks |
 * | `locks/urL<id>`, votes of `auditorelection` | text: `bookieId: "<who>"` (`encodeHolder`) |
 * | `lostBookieRecoveryDelay` | text: seconds |
 * | `disable` | nothing |
 * | `checkallledgersctime`, `placementpolicycheckctime`, `replicascheckctime` | protobuf: field 1, int64: milliseconds since the epoch |
 */
export const repairLayout = 'type: "BASIC"\nversion: 1\n';

/** A ledger that needs a look. */
export interface UnderReplicatedMark {
  /** Bookies that are missing; undefined when the mark cannot be read: then it may be any of them. */
  readonly replicas: readonly string[] | undefined;
  readonly markedAtMs: number | undefined;
  /** It is not enough to ask bookies what they have: every copy must be read. */
  readonly isDamaged: boolean;
  /** Its copies lie in too few racks or regions: some are to be moved. */
  readonly isMisplaced?: boolean;
}

export function encodeMark({ replicas = [], markedAtMs = 0, isDamaged, isMisplaced = false }: UnderReplicatedMark): Buffer {
  const lines = [...replicas.map((replica) => `replica: ${quoteText(replica)}`), `ctime: ${markedAtMs}`];
  if (isDamaged) lines.push(damaged);
  if (isMisplaced) lines.push(misplaced);
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** BookKeeper's tools know nothing of them and skip comments. */
const damaged = '# damaged';
const misplaced = '# misplaced';

/** Never fails: whatever its value says, the key alone says that the ledger needs a look. */
export function decodeMark(bytes: Uint8Array): UnderReplicatedMark {
  const text = new TextDecoder().decode(bytes);
  try {
    const fields = parseTextFormat(text);
    const replicas = fields.filter(({ name }) => name === 'replica').map(textValue);
    const time = fields.find(({ name }) => name === 'ctime');
    const lines = text.split('\n');
    const isMisplaced = lines.includes(misplaced);
    // One that is only misplaced names nobody, and misses nobody.
    const named = replicas.length === 0 && !isMisplaced ? undefined : replicas;
    return { replicas: named, markedAtMs: time && numberValue(time), isDamaged: lines.includes(damaged), ...(isMisplaced && { isMisplaced }) };
  } catch {
    return { replicas: undefined, markedAtMs: undefined, isDamaged: true };
  }
}

/** Undefined for a text that is no number of seconds. */
export function decodeDelaySeconds(bytes: Uint8Array): number | undefined {
  const text = new TextDecoder().decode(bytes).trim();
  const seconds = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(seconds) ? seconds : undefined;
}

const timeTag = 0x08;

export function encodeCheckTime(ms: number): Buffer {
  const out = [timeTag];
  let rest = BigInt(ms);
  for (; rest >= 0x80n; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80);
  out.push(Number(rest));
  return Buffer.from(out);
}

/** Undefined for what it cannot read: then the check is simply due. */
export function decodeCheckTime(bytes: Uint8Array): number | undefined {
  if (bytes[0] !== timeTag || bytes.length < 2 || bytes.length > 11) return undefined;
  let value = 0n;
  for (let i = 1; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    value |= BigInt(byte & 0x7f) << BigInt(7 * (i - 1));
    if (byte < 0x80 !== (i === bytes.length - 1)) return undefined;
  }
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined;
}
