import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { ChainApi } from '../../pchain/rpc/chain-api.ts';
import type { DataApi } from '../../pchain/rpc/data-api.ts';
import type { EvmApi } from '../../pchain/rpc/evm-api.ts';
import type { NodeApi } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { createTransactionReader } from '../../pchain/state/transaction-reader.ts';
import type { ValidationIndex } from '../../pchain/state/validation-index.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { TxID } from '../../warp/ids.ts';
import { asPChainFailure } from '../p-chain-failure.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import { createL1RequestBuilder, type L1MessageRequest, type MessageOfTransaction } from './l1-request-builder.ts';
import { createEvmMessages, type EvmLookup } from './messages-of-evm-transactions.ts';
import { createMessagesOfJustifications } from './messages-of-justifications.ts';
import { createMessagesOfTransactions } from './messages-of-transactions.ts';
import { createValidationOrigins } from './validation-origins.ts';

export type { L1MessageRequest };

export interface TransactionSubject {
  readonly txID: TxID;
  /** Undefined: only the P-Chain is asked. */
  readonly evm?: EvmLookup | undefined;
}

/** Finds the P-Chain's messages to L1s and their justifications, and the messages of EVM transactions. All methods throw `AggregatorError`, or the signal's reason. */
export interface L1Messages {
  /** The P-Chain's message about one of its transactions, or the message that an EVM transaction sent. */
  ofTransaction(subject: TransactionSubject, signal: AbortSignal): Promise<MessageOfTransaction>;
  /** The message of a justification: the conversion of a subnet, or the end of a validation. */
  ofJustification(justification: Uint8Array, signal: AbortSignal): Promise<L1MessageRequest>;
}

export interface L1MessagesOptions {
  readonly networkID: number;
  readonly api: Pick<NodeApi, 'getTx' | 'getTxStatus' | 'getL1Validator' | 'getBlockchainsOf'>;
  readonly evm: EvmApi;
  readonly subnets: Pick<SubnetPolicy, 'tracked'>;
  readonly chains: Pick<ChainApi, 'findXChainTx'>;
  readonly directory: SubnetDirectory;
  readonly index: ValidationIndex;
  /** Undefined if none is configured. */
  readonly dataApi: DataApi | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For all calls of one request. */
  readonly timeoutMs: number;
}

export function createL1Messages(options: L1MessagesOptions): L1Messages {
  const { networkID, api, chains, directory, index, dataApi, clock, logger, timeoutMs } = options;
  const transactions = createTransactionReader(api, clock);
  const warn = createThrottledWarnings(logger, clock);
  const origins = createValidationOrigins({ index, transactions, dataApi, warn });
  const toRequest = createL1RequestBuilder(networkID, directory);
  const evmMessages = createEvmMessages(options);
  const ofTransaction = createMessagesOfTransactions({
    ...{ api, chains, directory, transactions, origins, toRequest, evmMessages },
  });
  const ofJustification = createMessagesOfJustifications({ api, directory, toRequest });

  async function inTime<T>(parent: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using deadline = startDeadline(clock, timeoutMs, 'asking the P-Chain API', parent);
    try {
      return await work(deadline.signal);
    } catch (error) {
      parent.throwIfAborted();
      throw asPChainFailure(error, deadline.signal);
    }
  }

  return {
    async ofTransaction({ txID, evm }, signal) {
      const chain = evm?.chain;
      if (chain === undefined) return await inTime(signal, (timed) => ofTransaction(txID, evm, timed));
      return await evmMessages.ofChain(txID, chain, evm?.logIndex, signal);
    },
    ofJustification: (justification, signal) => inTime(signal, (timed) => ofJustification(justification, timed)),
  };
}
