import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

function linesOf(folder: string, kind: 'writer' | 'reader' | 'recoverer'): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${kind}-`) && name.endsWith('.txt'))
    .sort()
    .flatMap((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      // What a killed process wrote last may lack its end.
      return text
        .slice(0, text.lastIndexOf('\n') + 1)
        .split('\n')
        .slice(0, -1);
    });
}

/** By ledger: up to which entry its writer was told that they are safe. */
export function acknowledgedIn(folder: string): Map<number, number> {
  const all = new Map<number, number>();
  for (const line of linesOf(folder, 'writer')) {
    const [kind, ledgerId, entryId] = line.split(' ');
    if (kind === 'a') all.set(Number(ledgerId), Math.max(all.get(Number(ledgerId)) ?? -1, Number(entryId)));
    else if (kind === 'e' || kind === 'f') all.set(Number(ledgerId), all.get(Number(ledgerId)) ?? -1);
  }
  return all;
}

export interface End {
  ledgerId: number;
  lastEntryId: number;
  by: string;
}

/** Where ledgers ended, as somebody who closed one was told: no two may differ. */
export function endsIn(folder: string): End[] {
  return (['writer', 'recoverer'] as const).flatMap((by) =>
    linesOf(folder, by)
      .map((line) => line.split(' '))
      .filter(([kind]) => kind === 'e')
      .map(([, ledgerId, lastEntryId]) => ({ ledgerId: Number(ledgerId), lastEntryId: Number(lastEntryId), by })),
  );
}

export function complaintsIn(folder: string): string[] {
  return linesOf(folder, 'reader').filter((line) => line.startsWith('x '));
}

/** How often each kind of line, with its code where it has one, was written. */
export function tallyOf(folder: string, kind: 'writer' | 'reader'): Record<string, number> {
  const tally: Record<string, number> = {};
  for (const line of linesOf(folder, kind)) {
    const [letter = '', first = '', second = ''] = line.split(' ');
    const name =
      letter === 'f' ? `failed ${second}` : letter === 'n' || letter === 'w' ? `${letter === 'n' ? 'not created' : 'not read'} ${first}` : letter;
    tally[name] = (tally[name] ?? 0) + 1;
  }
  return tally;
}

export function entriesReadIn(folder: string): number {
  return linesOf(folder, 'reader').reduce((sum, line) => sum + (line.startsWith('r ') ? Number(line.split(' ')[2]) : 0), 0);
}
