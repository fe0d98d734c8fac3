import { parseTextFormat, quoteText, textValue } from '@daybook/proto';

/** Who holds a lock of repair, or stands in its election, as BookKeeper writes it (persisted). */
export function encodeHolder(name: string): Buffer {
  return Buffer.from(`bookieId: ${quoteText(name)}\n`);
}

/** Undefined when it cannot be read. */
export function decodeHolder(bytes: Uint8Array): string | undefined {
  try {
    const field = parseTextFormat(new TextDecoder().decode(bytes)).find(({ name }) => name === 'bookieId');
    return field && textValue(field);
  } catch {
    return undefined;
  }
}
