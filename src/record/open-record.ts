import type { Clock } from '../lib/concurrency/clock.ts';
import type { PeerNetwork } from '../p2p/peer-network.ts';
import type { ValidatorSets } from '../pchain/state/validator-sets.ts';
import { StoreError } from '../store/local/sqlite.ts';
import { createThrottledWarnings } from '../telemetry/log-throttle.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { WarpSet } from '../validators/warp-set.ts';
import type { SubnetID } from '../warp/ids.ts';
import { openRecordStore } from './record-store.ts';
import { openSigningRecord, type SigningRecord } from './signing-record.ts';

export interface RecordOptions {
  readonly recordValidators: boolean;
  readonly storePath: string | undefined;
  readonly networkID: number;
  readonly network: { readonly name: string };
  readonly validatorSets: Pick<ValidatorSets<WarpSet>, 'newest'>;
  readonly peers: Pick<PeerNetwork, 'isConnected'>;
  /** Whether the validators of a subnet are recorded now. */
  readonly isTracked: (subnetID: SubnetID) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Opens the record of a network's validators, unless it is switched off. */
export function openRecord(opened: AsyncDisposableStack, options: RecordOptions): SigningRecord | undefined {
  if (!options.recordValidators) return undefined;
  const { validatorSets, peers, isTracked, clock, logger } = options;
  const { store, isStored } = openStore(opened, options);
  const sets = () => validatorSets.newest().filter(([subnetID]) => isTracked(subnetID));
  return opened.use(
    openSigningRecord({
      ...options,
      store,
      isPersistent: isStored,
      sets,
      setOf: (subnetID) => (isTracked(subnetID) ? sets().find(([known]) => known === subnetID)?.[1] : undefined),
      isConnected: (nodeID) => peers.isConnected(nodeID),
      warn: createThrottledWarnings(logger, clock),
    }),
  );
}

/** A full disk does not stop the network: the record is then in memory until the next start. */
function openStore(opened: AsyncDisposableStack, options: RecordOptions) {
  const { storePath: directory, networkID, network, logger } = options;
  const place = { networkID, name: network.name };
  try {
    return { store: opened.use(openRecordStore({ ...place, directory })), isStored: directory !== undefined };
  } catch (error) {
    if (!(error instanceof StoreError && error.isFull)) throw error;
    logger.error(
      { err: error },
      'the record of validators is in memory until the next start, because the disk is full',
    );
    return { store: opened.use(openRecordStore({ ...place, directory: undefined })), isStored: false };
  }
}
