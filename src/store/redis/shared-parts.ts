import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { SignatureStore } from '../local/signature-store.ts';
import type { ValidationStore } from '../local/validation-store.ts';
import { createSeal } from './seal.ts';
import { createSharedSignatureStore } from './shared-signature-store.ts';
import type { SharedStore } from './shared-store.ts';
import { createSharedValidationStore } from './shared-validation-store.ts';
import { createSharedValidatorSets, type SharedValidatorSets } from './shared-validator-sets.ts';
import { createSharedValues } from './shared-values.ts';
import { createSharedWork, type SharedWork } from './shared-work.ts';

/** What replicas share of one network. */
export interface SharedParts {
  readonly work: SharedWork;
  readonly validatorSets: SharedValidatorSets;
  signatures(own: SignatureStore): SignatureStore;
  validations(own: ValidationStore): ValidationStore;
}

export interface SharedPartsOptions {
  readonly store: SharedStore;
  readonly secret: string | undefined;
  readonly networkID: number;
  /** Tells networks apart that have the same ID, as local ones may. */
  readonly networkName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Raised where values are written otherwise: replicas of two versions then do not read each other's. */
const FORMAT = 2;

export function createSharedParts(options: SharedPartsOptions): SharedParts {
  const { store, secret, networkID, networkName, clock } = options;
  const scope = `v${FORMAT}:${networkID}:${networkName}:`;
  const values = createSharedValues(store, scope);
  const seal = createSeal(secret, scope);
  return {
    work: createSharedWork({ ...options, values, seal }),
    validatorSets: createSharedValidatorSets(values, seal, clock),
    signatures: (own) => createSharedSignatureStore(own, values, seal),
    validations: (own) => createSharedValidationStore(own, values),
  };
}
