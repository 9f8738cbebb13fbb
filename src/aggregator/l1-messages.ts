import { LRUCache } from 'lru-cache';
import { ApiError } from '../pchain/api-error.ts';
import type { ChainApi } from '../pchain/chain-api.ts';
import type { DataApi } from '../pchain/data-api.ts';
import { L1_TRANSACTION_NAMES, type PChainTransaction, parsePChainTransaction } from '../pchain/l1-transaction.ts';
import type { L1ValidatorState, NodeApi } from '../pchain/node-api.ts';
import { conversionOrigins } from '../pchain/p-chain-block.ts';
import type { SubnetDirectory } from '../pchain/subnet-directory.ts';
import type { ValidationIndex } from '../pchain/validation-index.ts';
import type { Clock } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import {
  type BlockchainID,
  idBytes,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type TxID,
  type ValidationID,
} from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import type { Logger } from '../telemetry/logger.ts';
import { conversionID } from '../warp/conversion-data.ts';
import { encodeJustification, type L1ValidatorRegistrationJustification } from '../warp/justification.ts';
import {
  encodeL1Message,
  type L1Message,
  type L1ValidatorWeight,
  type RegisterL1Validator,
  registrationValidationID,
} from '../warp/l1-message.ts';
import type { UnsignedMessage } from '../warp/unsigned-message.ts';
import { AggregatorError, type RequestField } from './aggregator-error.ts';
import { createPChainMessage, findConversionValidator, recognizeJustification } from './l1-justification.ts';

/** A P-Chain message for an L1, with all that signing it takes. */
export interface L1MessageRequest {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  /** The chain of the L1's validator manager, which will verify the message. */
  readonly managerChainID: BlockchainID;
  /** The subnet that validates that chain: whose signatures it will look for. */
  readonly signingSubnetID: SubnetID;
}

/**
 * Finds the P-Chain's messages to L1s, and their justifications, so that nobody has to put them together by hand. All methods
 * throw {@link AggregatorError}, or the signal's reason.
 */
export interface L1Messages {
  /** What the P-Chain has to say about one of its transactions. */
  ofTransaction(txID: TxID, signal: AbortSignal): Promise<L1MessageRequest>;
  /** The message that a justification is for: the conversion of a subnet, or the end of a validation. */
  ofJustification(justification: Uint8Array, signal: AbortSignal): Promise<L1MessageRequest>;
}

export interface L1MessagesOptions {
  readonly networkID: number;
  readonly api: Pick<NodeApi, 'getTx' | 'getTxStatus' | 'getL1Validator'>;
  readonly chains: Pick<ChainApi, 'findXChainTx'>;
  readonly directory: SubnetDirectory;
  readonly index: ValidationIndex;
  /** Undefined where none is configured. */
  readonly dataApi: DataApi | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time for all questions that one request has. */
  readonly timeoutMs: number;
}

/** Accepted transactions never change; clients ask for the same one until all is well. Some KB each. */
const MAX_TRANSACTIONS = 500;

export function createL1Messages(options: L1MessagesOptions): L1Messages {
  const { networkID, api, chains, directory, index, dataApi, clock, logger, timeoutMs } = options;
  const transactions = new LRUCache<TxID, PChainTransaction>({ max: MAX_TRANSACTIONS });

  async function ofTransaction(txID: TxID, signal: AbortSignal): Promise<L1MessageRequest> {
    const transaction = await acceptedTransaction(txID, signal);
    switch (transaction.kind) {
      case 'other':
        throw withoutMessage(txID, transaction.name);
      case 'ConvertSubnetToL1Tx': {
        const { conversion } = transaction;
        const message: L1Message = { kind: 'SubnetToL1Conversion', conversionID: conversionID(conversion) };
        return toRequest(message, idBytes(conversion.subnetID), conversion.managerChainID, 'transaction', signal);
      }
      case 'RegisterL1ValidatorTx': {
        const validationID = registrationValidationID(transaction.message);
        if ((await l1Validator(validationID, signal)) === undefined) {
          throw invalid(
            'transaction',
            `the L1 validator that transaction ${txID} registered was removed since: the P-Chain no longer confirms its registration`,
          );
        }
        const message: L1Message = { kind: 'L1ValidatorRegistration', validationID, registered: true };
        return toRequest(message, NO_JUSTIFICATION, transaction.managerChainID, 'transaction', signal);
      }
      case 'SetL1ValidatorWeightTx': {
        const { message, managerChainID } = transaction;
        if (message.weight > 0n) {
          await requireLatestWeight(txID, message, signal);
          return toRequest(message, NO_JUSTIFICATION, managerChainID, 'transaction', signal);
        }
        const { validationID } = message;
        const subnetID = await directory.validatedBy(managerChainID, signal);
        const justification = encodeJustification(await requireOrigin(validationID, subnetID, 'transaction', signal));
        return toRequest(
          { kind: 'L1ValidatorRegistration', validationID, registered: false },
          justification,
          managerChainID,
          'transaction',
          signal,
        );
      }
    }
  }

  async function ofJustification(bytes: Uint8Array, signal: AbortSignal): Promise<L1MessageRequest> {
    const recognized = recognizeJustification(bytes);
    if (recognized === undefined) throw invalid('justification', ACCEPTED_JUSTIFICATIONS);
    const { subnetID } = recognized;
    const subnet = await directory.getSubnet(subnetID, signal);
    if (subnet === undefined) {
      throw new AggregatorError('unknown_subnet', `the P-Chain knows no subnet ${subnetID}`, {
        field: 'justification',
      });
    }
    const { managerChainID } = subnet;
    if (subnet.conversionID === undefined || managerChainID === undefined) {
      throw invalid('justification', `subnet ${subnetID} was not converted to an L1`);
    }
    if (recognized.kind === 'subnet') {
      const message: L1Message = { kind: 'SubnetToL1Conversion', conversionID: subnet.conversionID };
      return toRequest(message, bytes, managerChainID, 'justification', signal);
    }
    const { validationID, justification } = recognized;
    if ((await l1Validator(validationID, signal)) !== undefined) {
      throw invalid(
        'justification',
        `validation ${validationID} is of an L1 validator that exists: the P-Chain confirms the end of one after its removal only`,
      );
    }
    return toRequest(
      { kind: 'L1ValidatorRegistration', validationID, registered: false },
      encodeJustification(justification),
      managerChainID,
      'justification',
      signal,
    );
  }

  async function toRequest(
    message: L1Message,
    justification: Uint8Array,
    managerChainID: BlockchainID,
    field: RequestField,
    signal: AbortSignal,
  ): Promise<L1MessageRequest> {
    const signingSubnetID = await directory.validatedBy(managerChainID, signal);
    if (signingSubnetID === undefined) {
      throw invalid(
        field,
        `the L1's validator manager is on blockchain ${managerChainID}, which the P-Chain does not know`,
      );
    }
    return { message: createPChainMessage(networkID, message), justification, managerChainID, signingSubnetID };
  }

  async function acceptedTransaction(txID: TxID, signal: AbortSignal): Promise<PChainTransaction> {
    const transaction = await findTransaction(txID, signal);
    if (transaction === undefined) throw await notAccepted(txID, signal);
    return transaction;
  }

  async function findTransaction(txID: TxID, signal: AbortSignal): Promise<PChainTransaction | undefined> {
    const known = transactions.get(txID);
    if (known !== undefined) return known;
    const bytes = await unlessRejected(api.getTx(txID, signal));
    if (bytes === undefined) return undefined;
    let transaction: PChainTransaction;
    try {
      transaction = parsePChainTransaction(bytes);
    } catch (cause) {
      if (!(cause instanceof ParseError)) throw cause;
      // Its ID says that these are its bytes: it is of a form that came after this version.
      throw new AggregatorError('p_chain_invalid', `transaction ${txID} cannot be read: ${cause.message}`, { cause });
    }
    transactions.set(txID, transaction);
    return transaction;
  }

  async function notAccepted(txID: TxID, signal: AbortSignal): Promise<AggregatorError> {
    const { status, reason } = await api.getTxStatus(txID, signal);
    switch (status) {
      case 'Processing':
      // In the moment between the two questions.
      case 'Committed':
      case 'Aborted':
        return unknown(`transaction ${txID} is not yet accepted by the P-Chain; try again in a moment`);
      case 'Dropped':
        return unknown(
          `transaction ${txID} was dropped by the P-Chain and not accepted${reason === undefined ? '' : `: ${reason}`}`,
        );
      case 'Unknown':
        if (await isOfXChain(txID, signal)) {
          return invalid(
            'transaction',
            `${txID} is a transaction of the X-Chain, which carries no Warp message: ${ACCEPTED_TRANSACTIONS}`,
          );
        }
        return unknown(`neither the P-Chain nor the X-Chain knows a transaction ${txID}`);
    }
  }

  async function isOfXChain(txID: TxID, signal: AbortSignal): Promise<boolean> {
    try {
      await chains.findXChainTx(txID, signal);
      return true;
    } catch (error) {
      // Not there, or the X-Chain cannot be asked: either way there is nothing to say of the transaction.
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  async function requireLatestWeight(
    txID: TxID,
    { validationID, nonce }: L1ValidatorWeight,
    signal: AbortSignal,
  ): Promise<void> {
    const state = await l1Validator(validationID, signal);
    if (state === undefined) {
      throw invalid(
        'transaction',
        `the L1 validator whose weight transaction ${txID} set was removed since: the P-Chain no longer confirms its weight; use the transaction that removed it`,
      );
    }
    if (state.minNonce > nonce + 1n) {
      throw invalid(
        'transaction',
        `the weight that transaction ${txID} set (nonce ${nonce}) was set anew since (nonce ${state.minNonce - 1n}): the P-Chain confirms the last one only`,
      );
    }
  }

  async function l1Validator(validationID: ValidationID, signal: AbortSignal): Promise<L1ValidatorState | undefined> {
    return unlessRejected(api.getL1Validator(validationID, signal));
  }

  async function requireOrigin(
    validationID: ValidationID,
    subnetID: SubnetID | undefined,
    field: RequestField,
    signal: AbortSignal,
  ): Promise<L1ValidatorRegistrationJustification> {
    const origin =
      (await index.originOf(validationID, signal)) ??
      // The L1's own subnet where its manager is on its own chain.
      (subnetID !== undefined && subnetID !== PRIMARY_NETWORK_ID
        ? findConversionValidator(subnetID, validationID)
        : undefined) ??
      (await originFromDataApi(validationID, signal));
    if (origin !== undefined) return origin;
    throw notFound(field, `the registration of validation ${validationID}`);
  }

  async function originFromDataApi(
    validationID: ValidationID,
    signal: AbortSignal,
  ): Promise<L1ValidatorRegistrationJustification | undefined> {
    if (dataApi === undefined) return undefined;
    let txIDs: readonly TxID[];
    try {
      txIDs = await dataApi.transactionsOf(validationID, signal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      logger.warn({ err: error }, 'the data API does not help to find a registration');
      return undefined;
    }
    for (const txID of txIDs) {
      const transaction = await findTransaction(txID, signal);
      const origin = transaction && originIn(transaction, validationID);
      if (origin !== undefined) return origin;
    }
    return undefined;
  }

  function notFound(field: RequestField, what: string): AggregatorError {
    const { range, isReading } = index.coverage();
    const where =
      range === undefined ? 'no P-Chain block was read yet' : `P-Chain blocks ${range.from} to ${range.to} were read`;
    return new AggregatorError(
      isReading ? 'justification_pending' : 'justification_not_found',
      `${what}, which the message needs as its justification, was not found: ${where}` +
        `${isReading ? ', and more are being read' : ''}; give the justification by POST${isReading ? ', or try again later' : ''}`,
      { field },
    );
  }

  async function inTime<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using deadline = startDeadline(clock, timeoutMs, 'asking the P-Chain API', signal);
    try {
      return await work(deadline.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError) {
        const code = error.kind === 'unavailable' ? 'p_chain_unavailable' : 'p_chain_invalid';
        throw new AggregatorError(code, `the P-Chain API failed: ${error.message}`, { cause: error });
      }
      if (deadline.signal.aborted && error === deadline.signal.reason) {
        throw new AggregatorError('p_chain_unavailable', 'the P-Chain API did not answer in time', { cause: error });
      }
      throw error;
    }
  }

  return {
    ofTransaction: (txID, signal) => inTime(signal, (timed) => ofTransaction(txID, timed)),
    ofJustification: (justification, signal) => inTime(signal, (timed) => ofJustification(justification, timed)),
  };
}

const NO_JUSTIFICATION = new Uint8Array();
const ACCEPTED_TRANSACTIONS = `messages are of ${L1_TRANSACTION_NAMES.slice(0, -1).join(', ')} and ${L1_TRANSACTION_NAMES.at(-1)}`;
const ACCEPTED_JUSTIFICATIONS =
  'without a message it must be the 32 bytes of a subnet ID, an L1ValidatorRegistrationJustification, a RegisterL1Validator ' +
  'payload, or the Warp message that holds such a payload';

/** The origin of a validation, where this transaction is it. */
function originIn(
  transaction: PChainTransaction,
  validationID: ValidationID,
): L1ValidatorRegistrationJustification | undefined {
  switch (transaction.kind) {
    case 'ConvertSubnetToL1Tx':
      return conversionOrigins(transaction.conversion).find((origin) => origin.validationID === validationID)
        ?.justification;
    case 'RegisterL1ValidatorTx':
      return isRegistrationOf(transaction.message, validationID)
        ? { kind: 'RegisterL1ValidatorMessage', message: encodeL1Message(transaction.message) }
        : undefined;
    case 'SetL1ValidatorWeightTx':
    case 'other':
      return undefined;
  }
}

function isRegistrationOf(message: RegisterL1Validator, validationID: ValidationID): boolean {
  return registrationValidationID(message) === validationID;
}

function withoutMessage(txID: TxID, name: string): AggregatorError {
  const article = /^[AEIOU]/.test(name) ? 'an' : 'a';
  return invalid(
    'transaction',
    `transaction ${txID} is ${article} ${name}, which carries no Warp message: ${ACCEPTED_TRANSACTIONS}`,
  );
}

function invalid(field: RequestField, problem: string): AggregatorError {
  return new AggregatorError('invalid_request', problem, { field });
}

function unknown(problem: string): AggregatorError {
  return new AggregatorError('unknown_transaction', problem, { field: 'transaction' });
}

/** The code of all that the reference node's methods refuse, such as what is not there. */
const SERVER_ERROR = -32_000;

async function unlessRejected<Value>(call: Promise<Value>): Promise<Value | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError && error.rejection?.code === SERVER_ERROR) return undefined;
    throw error;
  }
}
