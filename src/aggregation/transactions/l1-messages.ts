import { LRUCache } from 'lru-cache';
import { unlessRefused } from '../../pchain/rpc/api-error.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { createTransactionReader } from '../../pchain/state/transaction-reader.ts';
import type { BlockchainID, SubnetID, TxID, ValidationID } from '../../warp/ids.ts';
import { encodeJustification, type L1ValidatorRegistrationJustification } from '../../warp/justification.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { AggregatorError, type AggregatorErrorCode, type RequestField } from '../aggregator-error.ts';
import { askOptionally, askPChain, CONFIRMING_PART } from '../ask-p-chain.ts';
import { unknownSubnet } from '../unknown-subnet.ts';
import {
  createPChainMessage,
  looksLikeSignedMessage,
  looksLikeUnsignedMessage,
  recognizeJustification,
} from './l1-justification.ts';
import { createAddresseeFinder } from './message-addressee.ts';
import { createEvmMessages, type EvmLookup, type EvmMessagesOptions } from './messages-of-evm-transactions.ts';
import {
  createMessagesOfTransactions,
  type L1MessageParts,
  type MessagesOfTransactionsOptions,
} from './messages-of-transactions.ts';
import { createOriginFinder } from './validation-origins.ts';

/** Finds the P-Chain's messages to L1s, and the messages of EVM transactions. All methods throw `AggregatorError`, or the signal's reason. */
export interface L1Messages {
  /** The chain of the validator manager that verifies a message of the P-Chain; undefined if it is not found soon. */
  addresseeOf(message: UnsignedMessage, signal: AbortSignal): Promise<BlockchainID | undefined>;
  /** The origin of a validation, the cheapest way first; undefined if it was not found. Rejects with an `ApiError`, too. */
  originOf(
    validationID: ValidationID,
    subnetID: SubnetID | undefined,
    signal: AbortSignal,
  ): Promise<L1ValidatorRegistrationJustification | undefined>;
  ofTransaction(subject: TransactionSubject, signal: AbortSignal): Promise<MessageOfTransaction>;
  /** The conversion of a subnet, or the end of a validation. */
  ofJustification(justification: Uint8Array, signal: AbortSignal): Promise<L1MessageRequest>;
}

export interface L1MessageRequest {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  /** The chain of the L1's validator manager, which will verify the message. */
  readonly managerChainID: BlockchainID;
  readonly signingSubnetID: SubnetID;
}

/** The P-Chain's message about one of its transactions, or the message that an EVM transaction sent. */
export interface TransactionSubject {
  readonly txID: TxID;
  /** Undefined: only the P-Chain is asked. */
  readonly evm?: EvmLookup | undefined;
}

/** Only messages of the P-Chain have the last two. */
export type MessageOfTransaction = Pick<L1MessageRequest, 'message' | 'justification'> & Partial<L1MessageRequest>;

export type L1MessagesOptions = MessagesOfTransactionsOptions &
  EvmMessagesOptions & { readonly directory: SubnetDirectory };

/** Addressees of messages that were made here, under 2 MB: a conversion's hash does not name its subnet. */
const MAX_ADDRESSEES = 10_000;
const ADDRESSEE_MS = 1_500;

export function createL1Messages(options: L1MessagesOptions): L1Messages {
  const { networkID, api, directory } = options;
  const evmMessages = createEvmMessages(options);
  const findMessage = createMessagesOfTransactions(options, evmMessages);
  const findAddressee = createAddresseeFinder({ ...options, candidates: () => options.subnets.tracked });
  const addressees = new LRUCache<string, BlockchainID>({ max: MAX_ADDRESSEES });

  /** @param field part of the request that led to the message, for the error */
  async function toRequest(
    { message, justification, managerChainID }: L1MessageParts,
    field: RequestField,
    signal: AbortSignal,
  ): Promise<L1MessageRequest> {
    const signingSubnetID = await directory.validatedBy(managerChainID, signal);
    if (signingSubnetID === undefined) {
      throw new AggregatorError(
        'invalid_request',
        `the L1's validator manager is on blockchain ${managerChainID}, which the P-Chain does not know`,
        { field },
      );
    }
    const unsigned = createPChainMessage(networkID, message);
    addressees.set(unsigned.id, managerChainID);
    return { message: unsigned, justification, managerChainID, signingSubnetID };
  }

  async function partsOfJustification(bytes: Uint8Array, signal: AbortSignal): Promise<L1MessageParts> {
    const recognized = recognizeJustification(bytes);
    if (recognized === undefined) throw failure('invalid_request', describeUnrecognized(bytes));
    const { subnetID } = recognized;
    const subnet = await directory.getSubnet(subnetID, signal);
    if (subnet === undefined) {
      throw await unknownSubnet(directory, { subnetID, field: 'justification' }, options.clock, signal);
    }
    const { conversionID, managerChainID } = subnet;
    if (conversionID === undefined || managerChainID === undefined) {
      throw failure('invalid_request', `subnet ${subnetID} was not converted to an L1`);
    }
    if (recognized.kind === 'subnet') {
      return { message: { kind: 'SubnetToL1Conversion', conversionID }, justification: bytes, managerChainID };
    }
    const { validationID } = recognized;
    // Validators refuse to sign the end of a validation that goes on, so this may fail.
    const isValidating = await askOptionally(
      { clock: options.clock, timeoutMs: CONFIRMING_PART * options.timeoutMs },
      signal,
      async (until) => (await unlessRefused(api.getL1Validator(validationID, until))) !== undefined,
    );
    if (isValidating === true) {
      throw failure(
        'validation_not_over',
        `the L1 validator of validation ${validationID} still exists: the P-Chain confirms the end of a validation only after ` +
          'its removal',
      );
    }
    const message = { kind: 'L1ValidatorRegistration', validationID, registered: false } as const;
    return { message, justification: encodeJustification(recognized.justification), managerChainID };
  }

  return {
    originOf: createOriginFinder(options, createTransactionReader(api, options.clock)),
    addresseeOf: async (message, signal) =>
      addressees.get(message.id) ??
      (await askOptionally({ ...options, timeoutMs: ADDRESSEE_MS }, signal, (until) => findAddressee(message, until))),
    async ofTransaction({ txID, evm }, parent) {
      if (evm?.chain !== undefined) return await evmMessages.ofChain(txID, evm.chain, evm.logIndex, parent);
      return await askPChain(options, parent, async (signal) => {
        const found = await findMessage(txID, evm, signal);
        return 'managerChainID' in found ? toRequest(found, 'transaction', signal) : found;
      });
    },
    ofJustification: (justification, parent) =>
      askPChain(options, parent, async (signal) =>
        toRequest(await partsOfJustification(justification, signal), 'justification', signal),
      ),
  };
}

const ACCEPTED =
  'without a message it must be the 32 bytes of a subnet ID, an L1ValidatorRegistrationJustification, a RegisterL1Validator ' +
  'payload, or the Warp message that holds such a payload';

function describeUnrecognized(bytes: Uint8Array): string {
  if (looksLikeSignedMessage(bytes)) return `this is a Warp message that is signed already; ${ACCEPTED}`;
  if (looksLikeUnsignedMessage(bytes))
    return `this is a Warp message: to have it signed, give it as the message; ${ACCEPTED}`;
  return ACCEPTED;
}

function failure(code: AggregatorErrorCode, message: string): AggregatorError {
  return new AggregatorError(code, message, { field: 'justification' });
}
