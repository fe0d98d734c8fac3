import type { Parts, PartsContext } from '../bookie-parts.js';
import type { Identity } from '../cookie.js';
import { markerNames, readMarker, switchMarker } from '../marker-files.js';
import { Limbo } from './limbo.js';
import { LimboExit } from './limbo-exit.js';

/** With what a repair of the journal, or the loss of all disks, left for this start. */
export async function createLimbo({ options, ledgers, logger }: PartsContext): Promise<Limbo> {
  const limbo = await readMarker(options.disk, ledgers.working, markerNames.limbo);
  if (limbo === undefined) return new Limbo('nothing');
  logger.warn(
    { limbo },
    'this bookie may have forgotten entries: nothing it lacks counts as absent, and it takes no others until it knows of which ledgers',
  );
  return new Limbo('everything');
}

/** Undefined when there is nothing to find out, or nobody to ask: then an operator ends limbo. */
export function makeLimboExit(
  { options, limits, ledgers, logger }: PartsContext,
  { storage, appends, fences, readOnly, limbo }: Pick<Parts, 'storage' | 'appends' | 'fences' | 'readOnly' | 'limbo'>,
  { identity, onFatal }: { identity: Identity; onFatal(error: unknown): void },
): LimboExit | undefined {
  const { metadata, clock, config, disk } = options;
  if (metadata?.ledgers === undefined || limbo.extent === 'nothing') return undefined;
  return new LimboExit({
    limbo,
    bookieId: identity.bookieId,
    storage,
    undurable: appends.undurable,
    fences,
    ledgers: metadata.ledgers,
    clusterId: identity.instanceId,
    instanceId: () => metadata.instanceId(),
    clock,
    settleMs: limits.limboSettleMs,
    metadataOpsPerSecond: config.gcMetadataOpRateLimit,
    onNarrowed: () => readOnly.endLimbo(),
    forget: () => switchMarker(disk, ledgers, markerNames.limbo, undefined),
    onFatal,
    logger,
  });
}
