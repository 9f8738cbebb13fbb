import { L1_TRANSACTION_NAMES, type PChainTransaction } from '../../pchain/codec/l1-transaction.ts';
import { ApiError, unlessRefused } from '../../pchain/rpc/api-error.ts';
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
import { AggregatorError, type AggregatorErrorCode } from '../aggregator-error.ts';
import { BLOCK_TIME_MS, type EvmLookup, type EvmMessage, type EvmMessages } from './messages-of-evm-transactions.ts';
import { createOriginFinder, type ValidationOriginsOptions } from './validation-origins.ts';

export interface MessagesOfTransactionsOptions extends ValidationOriginsOptions {
  readonly api: Pick<NodeApi, 'getTx' | 'getTxStatus' | 'getL1Validator'>;
  readonly chains: Pick<ChainApi, 'findXChainTx'>;
  readonly directory: Pick<SubnetDirectory, 'validatedBy'>;
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

  async function requireRegistered(txID: TxID, validationID: ValidationID, signal: AbortSignal): Promise<void> {
    if ((await unlessRefused(api.getL1Validator(validationID, signal))) !== undefined) return;
    throw failure(
      'message_superseded',
      `the L1 validator that transaction ${txID} registered was removed since: the P-Chain no longer confirms its registration`,
    );
  }

  async function requireLatestWeight(txID: TxID, message: L1ValidatorWeight, signal: AbortSignal): Promise<void> {
    const { validationID, nonce } = message;
    const state = await unlessRefused(api.getL1Validator(validationID, signal));
    if (state === undefined) {
      throw failure(
        'message_superseded',
        `the L1 validator whose weight transaction ${txID} set was removed since: the P-Chain no longer confirms its weight; ` +
          'use the transaction that removed it',
      );
    }
    if (state.minNonce > nonce + 1n) {
      throw failure(
        'message_superseded',
        `the weight that transaction ${txID} set (nonce ${nonce}) was set anew since (nonce ${state.minNonce - 1n}): the ` +
          'P-Chain confirms the last one only',
      );
    }
  }

  /** Searches the other chains for a transaction that the P-Chain does not know. */
  async function searchElsewhere(txID: TxID, evm: EvmLookup | undefined, signal: AbortSignal) {
    const found = evm && (await evmMessages.search(txID, evm.logIndex, signal));
    if (found !== undefined && 'message' in found) return found;
    if (await isOfXChain(txID, options.chains, signal)) {
      throw failure('no_message_in_transaction', `${txID} is a transaction of the X-Chain, ${NO_MESSAGE}`);
    }
    if (found === undefined) {
      const text = `neither the P-Chain nor the X-Chain knows a transaction ${txID}`;
      throw failure('unknown_transaction', `${text}; write the hash of an EVM transaction as 0x and 64 digits`);
    }
    const chains = 'neither the P-Chain, the X-Chain, the C-Chain nor a chain of a tracked subnet';
    const text = `${chains} knows a transaction ${txID} (${evmHash(txID)})`;
    const all = [text, ...found, 'name another chain by blockchainId'].join('; ');
    throw failure('unknown_transaction', all, BLOCK_TIME_MS);
  }

  return async (txID: TxID, evm: EvmLookup | undefined, signal: AbortSignal): Promise<L1MessageParts | EvmMessage> => {
    const transaction = await readTransaction(txID, signal);
    if (transaction !== undefined) return await partsOf(txID, transaction, signal);
    const status = await api.getTxStatus(txID, signal);
    if (status.status === 'Unknown') return await searchElsewhere(txID, evm, signal);
    throw describeNotAccepted(txID, status);
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
      );
    case 'Dropped': {
      const why = reason === undefined ? '' : `: ${reason}`;
      return failure('unknown_transaction', `transaction ${txID} was dropped by the P-Chain and not accepted${why}`);
    }
  }
}

async function isOfXChain(txID: TxID, chains: Pick<ChainApi, 'findXChainTx'>, signal: AbortSignal): Promise<boolean> {
  try {
    await chains.findXChainTx(txID, signal);
    return true;
  } catch (error) {
    // Either it does not exist, or the X-Chain cannot be asked.
    if (error instanceof ApiError) return false;
    throw error;
  }
}

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
