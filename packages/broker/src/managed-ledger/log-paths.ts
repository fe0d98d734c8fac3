/** Where the records of logs lie: `/managed-ledgers/<name>` and one child for each cursor, its name percent-encoded. */
export function logPath(name: string): string {
  return `/managed-ledgers/${name}`;
}

export function cursorPath(name: string, cursor: string): string {
  return `${logPath(name)}/${encodeURIComponent(cursor)}`;
}

export function cursorNameOf(child: string): string {
  return decodeURIComponent(child);
}
