import type { Clock } from '../../lib/concurrency/clock.ts';
import { unlessRefused } from '../../pchain/rpc/api-error.ts';
import type { ChainApi } from '../../pchain/rpc/chain-api.ts';
import type { DataApi } from '../../pchain/rpc/data-api.ts';
import type { EvmApi } from '../../pchain/rpc/evm-api.ts';
import type { NodeApi } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { createTransactionReader } from '../../pchain/state/transaction-reader.ts';
import type { ValidationIndex } from '../../pchain/state/validation-index.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { BlockchainID, SubnetID, TxID } from '../../warp/ids.ts';
import { encodeJustification } from '../../warp/justification.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { AggregatorError, type AggregatorErrorCode, type RequestField } from '../aggregator-error.ts';
import { askPChain } from '../ask-p-chain.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import {
  createPChainMessage,
  looksLikeSignedMessage,
  looksLikeUnsignedMessage,
  recognizeJustification,
} from './l1-justification.ts';
import { createEvmMessages, type EvmLookup } from './messages-of-evm-transactions.ts';
import { createMessagesOfTransactions, type L1MessageParts } from './messages-of-transactions.ts';
import { createValidationOrigins } from './validation-origins.ts';

/** Finds the P-Chain's messages to L1s, and the messages of EVM transactions. All methods throw `AggregatorError`, or the signal's reason. */
export interface L1Messages {
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

export interface L1MessagesOptions {
  readonly networkID: number;
  readonly api: Pick<NodeApi, 'getTx' | 'getTxStatus' | 'getL1Validator' | 'getBlockchainsOf'>;
  readonly evm: EvmApi;
  readonly subnets: Pick<SubnetPolicy, 'tracked'>;
  readonly chains: Pick<ChainApi, 'findXChainTx'>;
  readonly directory: SubnetDirectory;
  readonly index: Pick<ValidationIndex, 'originOf' | 'coverage'>;
  readonly dataApi: DataApi | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeoutMs: number;
}

export function createL1Messages(options: L1MessagesOptions): L1Messages {
  const { networkID, api, directory, index, dataApi, clock, logger } = options;
  const transactions = createTransactionReader(api, clock);
  const warn = createThrottledWarnings(logger, clock);
  const origins = createValidationOrigins({ index, transactions, dataApi, warn });
  const evmMessages = createEvmMessages(options);
  const ofTransaction = createMessagesOfTransactions({ ...options, transactions, origins, evmMessages });

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
    return { message: createPChainMessage(networkID, message), justification, managerChainID, signingSubnetID };
  }

  async function partsOfJustification(bytes: Uint8Array, signal: AbortSignal): Promise<L1MessageParts> {
    const recognized = recognizeJustification(bytes);
    if (recognized === undefined) throw failure('invalid_request', describeUnrecognized(bytes));
    const { subnetID } = recognized;
    const subnet = await directory.getSubnet(subnetID, signal);
    if (subnet === undefined) throw failure('unknown_subnet', `the P-Chain knows no subnet ${subnetID}`);
    const { conversionID, managerChainID } = subnet;
    if (conversionID === undefined || managerChainID === undefined) {
      throw failure('invalid_request', `subnet ${subnetID} was not converted to an L1`);
    }
    if (recognized.kind === 'subnet') {
      return { message: { kind: 'SubnetToL1Conversion', conversionID }, justification: bytes, managerChainID };
    }
    const { validationID } = recognized;
    if ((await unlessRefused(api.getL1Validator(validationID, signal))) !== undefined) {
      throw failure(
        'validation_not_over',
        `validation ${validationID} is of an L1 validator that exists: the P-Chain confirms the end of one after its ` +
          'removal only',
      );
    }
    const message = { kind: 'L1ValidatorRegistration', validationID, registered: false } as const;
    return { message, justification: encodeJustification(recognized.justification), managerChainID };
  }

  return {
    async ofTransaction({ txID, evm }, parent) {
      if (evm?.chain !== undefined) return await evmMessages.ofChain(txID, evm.chain, evm.logIndex, parent);
      return await askPChain(options, parent, async (signal) => {
        const found = await ofTransaction(txID, evm, signal);
        return 'managerChainID' in found ? toRequest(found, 'transaction', signal) : found;
      });
    },
    ofJustification: (bytes, parent) =>
      askPChain(options, parent, async (signal) =>
        toRequest(await partsOfJustification(bytes, signal), 'justification', signal),
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
