import { comparePositions, type Position } from '@daybook/proto';
import type { ManagedLedger } from '../managed-ledger/managed-ledger-api.js';
import type { InitialPosition } from './topic-api.js';

/** After which position a new subscription begins; what lies outside the log begins at its nearer end. */
export function startOf(log: ManagedLedger, initial: InitialPosition): Position {
  if (initial === 'earliest') return log.beforeFirst;
  if (initial === 'latest') return log.lastConfirmed;
  const { position, isInclusive } = initial;
  if (comparePositions(position, log.lastConfirmed) > 0) return log.lastConfirmed;
  if (comparePositions(position, log.beforeFirst) <= 0) return log.beforeFirst;
  return isInclusive ? log.previous(position) : position;
}
