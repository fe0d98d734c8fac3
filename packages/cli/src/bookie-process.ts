import type { BookieOptions } from './bookie.js';
export async function runBookie(_options: BookieOptions): Promise<void> {}
