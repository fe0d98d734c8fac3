import type { RepairTools } from '@daybook/ledger/repair';

export interface MarkedRow {
  ledgerId: number;
  /** Undefined: any of its bookies. */
  missing: readonly string[] | undefined;
  markedAt: string | undefined;
  isDamaged: boolean;
}

export interface MarkFilter {
  /** Only ledgers that miss a copy on this bookie. */
  missing?: string | undefined;
  /** Only ledgers that miss none on this one. */
  excluding?: string | undefined;
}

/** Marked ledgers, ascending. */
export async function* listMarked(
  { underReplication }: Pick<RepairTools, 'underReplication'>,
  { missing, excluding }: MarkFilter,
): AsyncGenerator<MarkedRow> {
  for await (const id of underReplication.list()) {
    const found = await underReplication.read(id);
    if (found === undefined) continue;
    const { replicas, markedAtMs, isDamaged } = found.mark;
    if (missing !== undefined && replicas !== undefined && !replicas.includes(missing)) continue;
    if (excluding !== undefined && replicas?.includes(excluding) === true) continue;
    yield { ledgerId: id, missing: replicas, markedAt: markedAtMs === undefined ? undefined : new Date(markedAtMs).toISOString(), isDamaged };
  }
}
