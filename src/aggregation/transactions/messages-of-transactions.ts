import { L1_TRANSACTION_NAMES, type PChainTransaction } from '../../pchain/codec/l1-transaction.ts';
import { ApiError, isNotServed, unlessRefused } from '../../pchain/rpc/api-error.ts';
import type { ChainApi } from '../../pchain/rpc/chain-api.ts';
import { evmHash } from '../../pchain/rpc/evm-api.ts';
import type { NodeApi, TxStatus } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { createTransactionReader } from '../../pchain/state/transaction-reader.ts';
import type { IndexCoverage } from '../../pchain/state/validation-index.ts';
import { conversionID } from '../../warp/conversion-data.ts';
import { type BlockchainID, idBytes, type TxID, type ValidationID } from '../../warp/ids.ts';
import { encodeJustification } from '../../warp/justification.ts';
import { type L1Message, type L1ValidatorWeight, registrationValidationID } from '../../warp/l1-message.ts';
import { nameOfNetwork } from '../../warp/networks.ts';
import { AggregatorError, type AggregatorErrorCode } from '../aggregator-error.ts';
import { askOptionally, CONFIRMING_PART } from '../ask-p-chain.ts';
import {
  BLOCK_TIME_MS,
  type EvmLookup,
  type EvmMessage,
  type EvmMessages,
  type EvmSearchMiss,
} from './messages-of-evm-transactions.ts';
import { createOriginFinder, type ValidationOriginsOptions } from './validation-origins.ts';

export interface MessagesOfTransactionsOptions extends ValidationOriginsOptions {
  readonly api: Pick<NodeApi, 'getTx' | 'getTxStatus' | 'getL1Validator'>;
  readonly chains: Pick<ChainApi, 'findXChainTx'>;
  readonly directory: Pick<SubnetDirectory, 'validatedBy'>;
  readonly networkID: number;
  readonly timeoutMs: number;
}

export interface L1MessageParts {
  readonly message: L1Message;
  /** Empty if validators need none. */
  readonly justification: Uint8Array;
  readonly managerChainID: BlockchainID;
}

/** Finds the P-Chain's message about one of its transactions. One that it never signs again is an error at once. */
export function createMessagesOfTransactions(
  options: MessagesOfTransactionsOptions,
  evmMessages: Pick<EvmMessages, 'search'>,
) {
  const { api, directory, index, clock } = options;
  const confirming = { clock, timeoutMs: CONFIRMING_PART * options.timeoutMs };
  const readTransaction = createTransactionReader(api, clock);
  const findOrigin = createOriginFinder(options, readTransaction);

  async function partsOf(txID: TxID, transaction: PChainTransaction, signal: AbortSignal): Promise<L1MessageParts> {
    switch (transaction.kind) {
      case 'other':
        throw failure(
          'no_message_in_transaction',
          `transaction ${txID} is ${withArticle(transaction.name)}, ${NO_MESSAGE}`,
        );
      case 'ConvertSubnetToL1Tx': {
        const { conversion } = transaction;
        return {
          message: { kind: 'SubnetToL1Conversion', conversionID: conversionID(conversion) },
          justification: idBytes(conversion.subnetID),
          managerChainID: conversion.managerChainID,
        };
      }
      case 'RegisterL1ValidatorTx': {
        const validationID = registrationValidationID(transaction.message);
        await requireRegistered(txID, validationID, signal);
        return {
          message: { kind: 'L1ValidatorRegistration', validationID, registered: true },
          justification: NO_JUSTIFICATION,
          managerChainID: transaction.managerChainID,
        };
      }
      case 'SetL1ValidatorWeightTx': {
        const { message, managerChainID } = transaction;
        if (message.weight === 0n) return await removalOf(message.validationID, managerChainID, signal);
        await requireLatestWeight(txID, message, signal);
        return { message, justification: NO_JUSTIFICATION, managerChainID };
      }
    }
  }

  async function removalOf(
    validationID: ValidationID,
    managerChainID: BlockchainID,
    signal: AbortSignal,
  ): Promise<L1MessageParts> {
    // The L1's subnet, if its manager's chain is its own.
    const subnetID = await directory.validatedBy(managerChainID, signal);
    const origin = await findOrigin(validationID, subnetID, signal);
    if (origin === undefined) throw describeNotFound(validationID, index.coverage());
    return {
      message: { kind: 'L1ValidatorRegistration', validationID, registered: false },
      justification: encodeJustification(origin),
      managerChainID,
    };
  }

  /** The L1 validator, which may be gone; undefined if the API cannot be asked, because validators refuse what is superseded anyway. */
  const findValidator = (validationID: ValidationID, signal: AbortSignal) =>
    askOptionally(confirming, signal, async (until) => ({
      state: await unlessRefused(api.getL1Validator(validationID, until)),
    }));

  async function requireRegistered(txID: TxID, validationID: ValidationID, signal: AbortSignal): Promise<void> {
    const found = await findValidator(validationID, signal);
    if (found === undefined || found.state !== undefined) return;
    throw failure(
      'message_superseded',
      `the L1 validator that transaction ${txID} registered was removed since: the P-Chain no longer confirms its registration`,
    );
  }

  async function requireLatestWeight(txID: TxID, message: L1ValidatorWeight, signal: AbortSignal): Promise<void> {
    const { validationID, nonce } = message;
    const found = await findValidator(validationID, signal);
    if (found === undefined) return;
    if (found.state === undefined) {
      throw failure(
        'message_superseded',
        `the L1 validator whose weight transaction ${txID} set was removed since: the P-Chain no longer confirms its weight; ` +
          'use the transaction that removed it',
      );
    }
    const { minNonce } = found.state;
    if (minNonce > nonce + 1n) {
      throw failure(
        'message_superseded',
        `the weight that transaction ${txID} set (nonce ${nonce}) was set anew since (nonce ${minNonce - 1n}): the ` +
          'P-Chain confirms the last one only',
      );
    }
  }

  /** Returns the error for a transaction that no chain returned. */
  async function describeMiss(
    txID: TxID,
    { pChainFailure, evmMiss }: { pChainFailure: ApiError | undefined; evmMiss: EvmSearchMiss | undefined },
    signal: AbortSignal,
  ): Promise<AggregatorError | ApiError> {
    const status = await askOptionally(confirming, signal, (until) => api.getTxStatus(txID, until));
    if (status !== undefined && status.status !== 'Unknown') return pChainFailure ?? describeNotAccepted(txID, status);
    const unasked = [...(evmMiss?.failures ?? [])];
    if (pChainFailure !== undefined) unasked.unshift(`the P-Chain could not be asked: ${pChainFailure.message}`);
    // As for a request that names the C-Chain: 404 would make clients wait for a chain that is never asked.
    const { cChainFailure } = evmMiss ?? {};
    if (cChainFailure !== undefined) {
      const { code, message, cause } = cChainFailure;
      const text = [`transaction ${txID} was not found`, message, ...unasked, NAME_CHAIN].join('; ');
      return new AggregatorError(code, text, { cause });
    }
    const ofXChain = await askXChain(txID, options.chains, signal);
    if (ofXChain === true) {
      return failure('no_message_in_transaction', `${txID} is a transaction of the X-Chain, ${NO_MESSAGE}`);
    }
    if (ofXChain !== false) unasked.push(`the X-Chain could not be asked: ${ofXChain.message}`);
    const asked = [
      ...(pChainFailure === undefined ? ['the P-Chain'] : []),
      ...(ofXChain === false ? ['the X-Chain'] : []),
      ...(evmMiss === undefined ? [] : ['the C-Chain', 'a chain of a tracked subnet']),
    ];
    const id = evmMiss === undefined ? txID : `${txID} (${evmHash(txID)})`;
    const advice = evmMiss === undefined ? 'write the hash of an EVM transaction as 0x and 64 digits' : NAME_CHAIN;
    const text = [unknownTo(asked, nameOfNetwork(options.networkID), `transaction ${id}`), ...unasked, advice].join(
      '; ',
    );
    return failure('unknown_transaction', text, BLOCK_TIME_MS);
  }

  return async (txID: TxID, evm: EvmLookup | undefined, signal: AbortSignal): Promise<L1MessageParts | EvmMessage> => {
    let transaction: PChainTransaction | undefined;
    let pChainFailure: ApiError | undefined;
    try {
      transaction = await readTransaction(txID, signal);
    } catch (error) {
      // An EVM chain may know it.
      if (evm === undefined || !isNotServed(error)) throw error;
      pChainFailure = error;
    }
    if (transaction !== undefined) return await partsOf(txID, transaction, signal);
    const found = evm && (await evmMessages.search(txID, evm.logIndex, signal));
    if (found !== undefined && 'message' in found) return found;
    throw await describeMiss(txID, { pChainFailure, evmMiss: found }, signal);
  };
}

/** Why the P-Chain has not accepted a transaction that it knows. */
function describeNotAccepted(txID: TxID, { status, reason }: TxStatus): AggregatorError {
  switch (status) {
    case 'Unknown':
    case 'Processing':
    // It was accepted between the two calls.
    case 'Committed':
    case 'Aborted':
      return failure(
        'unknown_transaction',
        `transaction ${txID} is not yet accepted by the P-Chain; try again in a moment`,
        BLOCK_TIME_MS,
      );
    case 'Dropped': {
      const why = reason === undefined ? '' : `: ${reason}`;
      return failure('unknown_transaction', `transaction ${txID} was dropped by the P-Chain and not accepted${why}`);
    }
  }
}

/** Returns whether the X-Chain has the transaction, or why it could not be asked. */
async function askXChain(
  txID: TxID,
  chains: Pick<ChainApi, 'findXChainTx'>,
  signal: AbortSignal,
): Promise<boolean | ApiError> {
  try {
    return (await unlessRefused(chains.findXChainTx(txID, signal).then(() => true))) ?? false;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function unknownTo(chains: readonly string[], network: string, what: string): string {
  const before = chains.slice(0, -1);
  return before.length === 0
    ? `${chains.at(-1)} of ${network} knows no ${what}`
    : `neither ${before.join(', ')} nor ${chains.at(-1)} of ${network} knows a ${what}`;
}

const NAME_CHAIN = 'name another chain by blockchainId';

function describeNotFound(validationID: ValidationID, { range, isReading }: IndexCoverage): AggregatorError {
  const where =
    range === undefined ? 'no P-Chain block was read yet' : `P-Chain blocks ${range.from} to ${range.to} were read`;
  const [more, later] = isReading ? [', and more are being read', ', or try again later'] : ['', ''];
  return failure(
    isReading ? 'justification_pending' : 'justification_not_found',
    `the registration of validation ${validationID}, which the message needs as its justification, was not found: ` +
      `${where}${more}; give the justification by POST${later}`,
  );
}

const NO_JUSTIFICATION = new Uint8Array();
const NO_MESSAGE =
  'which carries no Warp message: those with one are ' +
  `${L1_TRANSACTION_NAMES.slice(0, -1).join(', ')} and ${L1_TRANSACTION_NAMES.at(-1)}`;

function withArticle(name: string): string {
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`;
}

function failure(code: AggregatorErrorCode, message: string, retryAfterMs?: number): AggregatorError {
  return new AggregatorError(code, message, { field: 'transaction', retryAfterMs });
}
