import type { Clock } from '../../lib/concurrency/clock.ts';
import type { PChainTransaction } from '../../pchain/codec/l1-transaction.ts';
import { conversionOrigins } from '../../pchain/codec/p-chain-block.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { DataApi } from '../../pchain/rpc/data-api.ts';
import type { TransactionReader } from '../../pchain/state/transaction-reader.ts';
import type { ValidationIndex } from '../../pchain/state/validation-index.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { PRIMARY_NETWORK_ID, type SubnetID, type TxID, type ValidationID } from '../../warp/ids.ts';
import {
  type L1ValidatorRegistrationJustification,
  registrationOrigin,
  type ValidationOrigin,
} from '../../warp/justification.ts';
import { findConversionValidator } from './l1-justification.ts';

export interface ValidationOriginsOptions {
  readonly index: Pick<ValidationIndex, 'originOf' | 'coverage'>;
  readonly dataApi: DataApi | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Returns a function that finds the origin of a validation, the cheapest way first: the index of P-Chain blocks, hashing, the data API.
 * Undefined if it was not found, though it may exist. `subnetID` is the L1's, if the validation may belong to it.
 */
export function createOriginFinder(options: ValidationOriginsOptions, readTransaction: TransactionReader) {
  const { index, dataApi } = options;
  const warn = createThrottledWarnings(options.logger, options.clock);

  async function askDataApi(
    validationID: ValidationID,
    signal: AbortSignal,
  ): Promise<L1ValidatorRegistrationJustification | undefined> {
    if (dataApi === undefined) return undefined;
    let txIDs: readonly TxID[];
    try {
      txIDs = await dataApi.transactionsOf(validationID, signal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      warn('data API', { err: error }, 'the data API could not be asked for a registration');
      return undefined;
    }
    for (const txID of txIDs) {
      const transaction = await readTransaction(txID, signal);
      const origin = transaction && originsOf(transaction).find((each) => each.validationID === validationID);
      if (origin !== undefined) return origin.justification;
    }
    return undefined;
  }

  return async (validationID: ValidationID, subnetID: SubnetID | undefined, signal: AbortSignal) => {
    const indexed = await index.originOf(validationID, signal);
    if (indexed !== undefined) return indexed;
    // Validators of the primary network do not come from a conversion.
    const isOfL1 = subnetID !== undefined && subnetID !== PRIMARY_NETWORK_ID;
    const hashed = isOfL1 ? findConversionValidator(subnetID, validationID) : undefined;
    return hashed ?? askDataApi(validationID, signal);
  };
}

function originsOf(transaction: PChainTransaction): readonly ValidationOrigin[] {
  switch (transaction.kind) {
    case 'ConvertSubnetToL1Tx':
      return conversionOrigins(transaction.conversion);
    case 'RegisterL1ValidatorTx':
      return [registrationOrigin(transaction.message)];
    case 'SetL1ValidatorWeightTx':
    case 'other':
      return [];
  }
}
