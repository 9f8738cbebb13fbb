import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { EvmReceipt } from '../../pchain/codec/evm-receipt.ts';
import { ApiError, unlessRefused } from '../../pchain/rpc/api-error.ts';
import { type EvmApi, type EvmChainID, evmHash } from '../../pchain/rpc/evm-api.ts';
import type { NodeApi } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, type TxID } from '../../warp/ids.ts';
import { nameOfNetwork } from '../../warp/networks.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { AggregatorError, type AggregatorErrorCode, type AggregatorErrorOptions } from '../aggregator-error.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';

/** Where to look for an EVM transaction, and which of its messages is meant. */
export interface EvmLookup {
  /** Undefined: the C-Chain and the chains of tracked subnets, if the P-Chain has no transaction of this ID. */
  readonly chain: EvmChainID | undefined;
  /** Undefined: the only one. */
  readonly logIndex: number | undefined;
}

export interface EvmMessagesOptions {
  readonly evm: Pick<EvmApi, 'getReceipt'>;
  readonly api: Pick<NodeApi, 'getBlockchains'>;
  readonly directory: Pick<SubnetDirectory, 'validatedBy'>;
  readonly subnets: Pick<SubnetPolicy, 'tracked'>;
  readonly networkID: number;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

export type EvmMessages = ReturnType<typeof createEvmMessages>;

export interface EvmMessage {
  readonly message: UnsignedMessage;
  /** Empty: EVM chains need none. */
  readonly justification: Uint8Array;
}

/** No chain that was asked knows the transaction. */
export interface EvmSearchMiss {
  /** Why chains of tracked subnets could not be asked, each a clause. */
  readonly failures: readonly string[];
  /** Present if the C-Chain could not be asked. */
  readonly cChainFailure: AggregatorError | undefined;
}

const MAX_RECEIPTS = 1_000;
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
const RECEIPT_BYTES = 256;
/** A receipt that an RPC returned for a block that is not final yet must not stay. */
const KEPT_MS = 10 * 60_000;
/** Bounds the calls of one request. */
const MAX_SEARCHED_CHAINS = 16;
/** Part of the timeout, so that the request can still be answered by what the P-Chain and the X-Chain returned. */
const SEARCH_PART = 0.5;
/** Delay until a new chain, or one of a subnet that is newly tracked, is searched. */
const CHAINS_KEPT_MS = 60_000;
export const BLOCK_TIME_MS = 2_000;

/** Finds the message that an EVM transaction sent. The methods throw {@link AggregatorError}, or the signal's reason. */
export function createEvmMessages(options: EvmMessagesOptions) {
  const { evm, api, directory, subnets, clock, timeoutMs } = options;
  const receipts = new FreshCache<string, EvmReceipt | undefined>({
    clock,
    max: MAX_RECEIPTS,
    size: { max: MAX_KEPT_BYTES, of: sizeOf },
    maxAgeMs: (receipt) => (receipt === undefined ? 0 : KEPT_MS),
    load: (key, signal) => {
      const [chain, txID] = key.split(' ') as [EvmChainID, TxID];
      return unlessRefused(evm.getReceipt(chain, txID, signal));
    },
  });
  const chainsOfTracked = new FreshCache<'tracked', readonly BlockchainID[]>({
    clock,
    max: 1,
    maxAgeMs: CHAINS_KEPT_MS,
    async load(_, signal) {
      const subnetIDs = new Set([...subnets.tracked].filter((subnetID) => subnetID !== PRIMARY_NETWORK_ID));
      if (subnetIDs.size === 0) return [];
      const all = await api.getBlockchains(signal);
      const ofTracked = all.filter(({ subnetID }) => subnetIDs.has(subnetID));
      return ofTracked.slice(0, MAX_SEARCHED_CHAINS).map(({ blockchainID }) => blockchainID);
    },
  });
  const receiptOf = (chain: EvmChainID, txID: TxID, signal: AbortSignal): Promise<EvmReceipt | undefined> =>
    receipts.get(`${chain} ${txID}`, signal);

  async function ofChain(txID: TxID, chain: EvmChainID, logIndex: number | undefined, parent: AbortSignal) {
    using deadline = startDeadline(clock, timeoutMs, `asking ${nameOf(chain)}`, parent);
    const { signal } = deadline;
    let receipt: EvmReceipt | undefined;
    try {
      receipt = await receiptOf(chain, txID, signal);
    } catch (error) {
      parent.throwIfAborted();
      // Only now, so that a transaction that is found costs one call.
      if (chain !== 'C' && (await directory.validatedBy(chain, signal).catch(() => chain)) === undefined) {
        throw failure('unknown_source_chain', `the P-Chain knows no blockchain ${chain}`, { field: 'sourceChainID' });
      }
      throw asChainFailure(error, chain, signal);
    }
    if (receipt !== undefined) return choose(receipt, logIndex, describe(txID, chain));
    const network = chain === 'C' ? ` of ${nameOfNetwork(options.networkID)}` : '';
    const text = `${nameOf(chain)}${network} has not accepted a transaction ${evmHash(txID)}`;
    throw failure('unknown_transaction', text, { retryAfterMs: BLOCK_TIME_MS });
  }

  /** Asks the C-Chain and the chains of tracked subnets at once; the first that knows the transaction wins. */
  async function search(
    txID: TxID,
    logIndex: number | undefined,
    parent: AbortSignal,
  ): Promise<EvmMessage | EvmSearchMiss> {
    using deadline = startDeadline(clock, SEARCH_PART * timeoutMs, 'asking EVM chains', parent);
    const failures: string[] = [];
    let cChainFailure: AggregatorError | undefined;
    const found = new AbortController();
    const signal = AbortSignal.any([deadline.signal, found.signal]);
    const failed = (what: string, error: unknown): undefined => {
      parent.throwIfAborted();
      failures.push(`${what} could not be asked: ${reasonOf(error)}`);
    };
    const ask = async (chain: EvmChainID): Promise<{ chain: EvmChainID; receipt: EvmReceipt }> => {
      const receipt = await receiptOf(chain, txID, signal).catch((error: unknown) => {
        if (chain !== 'C') return failed(nameOf(chain), error);
        parent.throwIfAborted();
        cChainFailure = chainFailure(error, chain);
        return undefined;
      });
      if (receipt === undefined) throw NOT_FOUND;
      return { chain, receipt };
    };
    const askTracked = async () => {
      const chains = await chainsOfTracked
        .get('tracked', signal)
        .catch((error: unknown) => failed('chains of tracked subnets', error));
      return await Promise.any((chains ?? []).map(ask));
    };
    try {
      const { chain, receipt } = await Promise.any([ask('C'), askTracked()]);
      return choose(receipt, logIndex, describe(txID, chain));
    } catch (error) {
      parent.throwIfAborted();
      if (error instanceof AggregateError) return { failures, cChainFailure };
      throw error;
    } finally {
      found.abort(NOT_FOUND);
    }
  }

  return { ofChain, search };
}

const NO_JUSTIFICATION = new Uint8Array();
const NOT_FOUND = new Error('not found');

function sizeOf(receipt: EvmReceipt | undefined): number {
  return (
    RECEIPT_BYTES + (receipt?.messages ?? []).reduce((sum, { message }) => sum + 2 * message.bytes.length + 256, 0)
  );
}

/** Returns the message that is meant. @throws {AggregatorError} if there is none, or several */
function choose(
  { hasFailed, logCount, messages: sentMessages }: EvmReceipt,
  logIndex: number | undefined,
  transaction: string,
): EvmMessage {
  const chosen = logIndex === undefined ? sentMessages : sentMessages.filter((sent) => sent.logIndex === logIndex);
  const [only] = chosen;
  if (only !== undefined && chosen.length === 1) return { message: only.message, justification: NO_JUSTIFICATION };
  const indices = indexText(sentMessages.map((sent) => sent.logIndex));
  if (chosen.length > 1) {
    const text = `${transaction} sent ${sentMessages.length} Warp messages: choose one by ${indices}`;
    throw failure('several_messages', text, { sentMessages });
  }
  if (hasFailed) throw failure('no_message_in_transaction', `${transaction} failed, so it sent no message`);
  if (sentMessages.length > 0) {
    const text = `${transaction} has no message of logIndex ${logIndex}, but of ${indices}`;
    throw failure('no_message_in_transaction', text, { sentMessages });
  }
  const logs = logCount === 0 ? 'no logs' : `${logCount} logs, none of them SendWarpMessage of the Warp precompile`;
  throw failure('no_message_in_transaction', `${transaction} sent no Warp message: it has ${logs}`);
}

function describe(txID: TxID, chain: EvmChainID): string {
  return `transaction ${evmHash(txID)} of ${nameOf(chain)}`;
}

/** Longest list of log indices in a sentence. */
const MAX_INDICES = 16;

function indexText(indices: readonly number[]): string {
  const more = indices.length > MAX_INDICES ? ', …' : '';
  return `logIndex ${indices.slice(0, MAX_INDICES).join(', ')}${more}`;
}

function nameOf(chain: EvmChainID): string {
  return chain === 'C' ? 'the C-Chain' : `blockchain ${chain}`;
}

function reasonOf(error: unknown): string {
  return error instanceof ApiError ? error.message : 'no answer in time';
}

function asChainFailure(cause: unknown, chain: EvmChainID, deadline: AbortSignal): unknown {
  const isOfRpc = cause instanceof ApiError || (deadline.aborted && cause === deadline.reason);
  return isOfRpc ? chainFailure(cause, chain) : cause;
}

function chainFailure(cause: unknown, chain: EvmChainID): AggregatorError {
  const isInvalid = cause instanceof ApiError && cause.code !== 'unavailable';
  const advice = isInvalid ? '; chains that the node does not run need the setting chainRpc' : '';
  const text = `the RPC of ${nameOf(chain)} failed: ${reasonOf(cause)}${advice}`;
  return new AggregatorError(isInvalid ? 'chain_rpc_invalid' : 'chain_rpc_unavailable', text, { cause });
}

function failure(code: AggregatorErrorCode, message: string, more: AggregatorErrorOptions = {}): AggregatorError {
  return new AggregatorError(code, message, { field: 'transaction', ...more });
}
