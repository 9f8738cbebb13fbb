import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { SignatureStore } from '../local/signature-store.ts';
import type { ValidationStore } from '../local/validation-store.ts';
import { createDistributedSingleFlight } from './distributed-single-flight.ts';
import { createSeal } from './seal.ts';
import { createSharedSignatureStore } from './shared-signature-store.ts';
import type { SharedStore } from './shared-store.ts';
import { createSharedValidationStore } from './shared-validation-store.ts';
import { createSharedValidatorSets } from './shared-validator-sets.ts';
import { createSharedValues } from './shared-values.ts';

/**
 * The parts of one network that replicas share in a Redis. `src/store` keeps what outlives a request: `local/` in memory and SQLite, and
 * `redis/` for all replicas, on top of the local stores. It decides nothing about signatures; start reading at `shared-store.ts`.
 */
export type SharedStoreParts = ReturnType<typeof createSharedStoreParts>;

export interface SharedStorePartsOptions {
  readonly store: SharedStore;
  readonly secret: string | undefined;
  readonly networkID: number;
  /** Distinguishes private networks with the same ID. */
  readonly networkName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Raised with each change of the encoding, so that replicas of different versions ignore each other's values. */
const FORMAT = 2;

export function createSharedStoreParts(options: SharedStorePartsOptions) {
  const { store, secret, networkID, networkName, clock } = options;
  const scope = `v${FORMAT}:${networkID}:${networkName}:`;
  const values = createSharedValues(store, scope);
  const seal = createSeal(secret, scope);
  return {
    singleFlight: createDistributedSingleFlight({ ...options, values, seal }),
    validatorSets: createSharedValidatorSets(values, seal, clock),
    signatures: (own: SignatureStore) => createSharedSignatureStore(own, values, seal),
    validations: (own: ValidationStore) => createSharedValidationStore(own, values),
  };
}
