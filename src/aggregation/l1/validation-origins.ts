import type { PChainTransaction } from '../../pchain/codec/l1-transaction.ts';
import { conversionOrigins } from '../../pchain/codec/p-chain-block.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { DataApi } from '../../pchain/rpc/data-api.ts';
import type { TransactionReader } from '../../pchain/state/transaction-reader.ts';
import type { IndexCoverage, ValidationIndex } from '../../pchain/state/validation-index.ts';
import type { ThrottledWarnings } from '../../telemetry/log-throttle.ts';
import { PRIMARY_NETWORK_ID, type SubnetID, type TxID, type ValidationID } from '../../warp/ids.ts';
import type { L1ValidatorRegistrationJustification } from '../../warp/justification.ts';
import { encodeL1Message, registrationValidationID } from '../../warp/l1-message.ts';
import { findConversionValidator } from './l1-justification.ts';

export type ValidationOrigins = ReturnType<typeof createValidationOrigins>;

export interface ValidationOriginsOptions {
  readonly index: Pick<ValidationIndex, 'originOf' | 'coverage'>;
  readonly transactions: TransactionReader;
  readonly dataApi: DataApi | undefined;
  readonly warn: ThrottledWarnings;
}

/** Cheapest first: the index of P-Chain blocks, hashing, the data API. */
export function createValidationOrigins(options: ValidationOriginsOptions) {
  const { index, transactions, dataApi, warn } = options;

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
      const transaction = await transactions.read(txID, signal);
      const origin = transaction && originIn(transaction, validationID);
      if (origin !== undefined) return origin;
    }
    return undefined;
  }

  return {
    /** Undefined if it was not found, though it may exist. `subnetID` is the L1's, if the validation may belong to it. */
    async find(
      validationID: ValidationID,
      subnetID: SubnetID | undefined,
      signal: AbortSignal,
    ): Promise<L1ValidatorRegistrationJustification | undefined> {
      const indexed = await index.originOf(validationID, signal);
      if (indexed !== undefined) return indexed;
      // Validators of the primary network do not come from a conversion.
      const isOfL1 = subnetID !== undefined && subnetID !== PRIMARY_NETWORK_ID;
      const hashed = isOfL1 ? findConversionValidator(subnetID, validationID) : undefined;
      return hashed ?? askDataApi(validationID, signal);
    },
    /** The blocks that were searched. */
    coverage: (): IndexCoverage => index.coverage(),
  };
}

function originIn(
  transaction: PChainTransaction,
  validationID: ValidationID,
): L1ValidatorRegistrationJustification | undefined {
  switch (transaction.kind) {
    case 'ConvertSubnetToL1Tx':
      return conversionOrigins(transaction.conversion).find((origin) => origin.validationID === validationID)
        ?.justification;
    case 'RegisterL1ValidatorTx':
      return registrationValidationID(transaction.message) === validationID
        ? { kind: 'RegisterL1ValidatorMessage', message: encodeL1Message(transaction.message) }
        : undefined;
    case 'SetL1ValidatorWeightTx':
    case 'other':
      return undefined;
  }
}
