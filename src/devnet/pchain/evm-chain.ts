import { hash as hashText } from 'node:crypto';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { bytesToHex, prefixedHex } from '../../lib/encoding/bytes.ts';
import { logsBloomOf } from '../../pchain/codec/logs-bloom.ts';
import { encodeLogData, SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../../pchain/codec/send-warp-log.ts';
import { type BlockchainID, idBytes } from '../../warp/ids.ts';
import { encodeWarpPayload } from '../../warp/payload.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { UptimeWatch } from '../node/uptime-watch.ts';

/**
 * Emitted messages and accepted blocks that validators sign, in some 100 MB. A real chain keeps all; here the oldest are dropped, so that
 * memory is bounded in a network that runs for days.
 */
const MAX_SIGNABLE = 1_000_000;
/** Blocks whose receipts and logs can be read: the newest, 65,536 at most. */
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;
/** Size of a block and its transaction without their messages. */
const BLOCK_BYTES = 1024;

/** A block with one transaction. */
export interface EvmBlock {
  readonly number: number;
  /** In hex, with `0x`. */
  readonly hash: string;
}

export interface EvmTransaction {
  /** In hex, with `0x`. */
  readonly hash: string;
  readonly block: EvmBlock;
  readonly messages: readonly UnsignedMessage[];
}

interface AcceptedTransaction extends EvmTransaction {
  readonly hasFailed: boolean;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  /** Monotonic. */
  readonly acceptedMs: number;
  /** Timestamp of the block, in Unix milliseconds. */
  readonly blockTimeMs: number;
}

export interface EvmChainOptions {
  /** The C-Chain runs coreth, the L1 subnet-evm: their refusal codes differ. */
  readonly vm: 'coreth' | 'subnet-evm';
  readonly networkID: number;
  readonly blockchainID: BlockchainID;
  /** 20 bytes: the account that emits messages unless another one is given. */
  readonly sender: Uint8Array;
  readonly clock: Clock;
  /** Time from a block's acceptance to its execution (ACP-194). */
  readonly executionLagMs?: number;
  /** Uptimes that the nodes of an L1 have measured, and sign. */
  readonly uptimes?: UptimeWatch;
  /** The precompile's configuration, as in the genesis. By default that of most chains. */
  readonly warpConfig?: object;
}

/** Blocks of `eth_getLogs`: one by its hash, or a range. */
export interface LogFilter {
  readonly blockHash: string | undefined;
  readonly fromBlock: number;
  readonly toBlock: number;
}

/** A log of the Warp precompile. */
export interface EvmLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly logIndex: string;
  readonly transactionHash: string;
  readonly transactionIndex: string;
  readonly blockHash: string;
  readonly blockNumber: string;
}

/**
 * State of an EVM chain from which its validators sign: the Warp messages that its precompile emitted, and the accepted blocks.
 *
 * A transaction is accepted at once, in a block of its own, and executed after the lag. Until then it has no receipt and no logs, and
 * validators refuse its messages; they sign the hash of its block from the start.
 */
export class EvmChain {
  readonly vm: EvmChainOptions['vm'];
  readonly blockchainID: BlockchainID;
  readonly uptimes: UptimeWatch | undefined;
  executionLagMs: number;
  /** The result of `eth_chainId`: that of the C-Chain of local networks, and any other one. */
  readonly evmChainID: number;
  /** The result of `eth_getChainConfig`, as far as it concerns Warp; `upgrades` may be added. */
  chainConfig: object;
  readonly #options: EvmChainOptions;
  /** When the block of a message was accepted, by the message's ID. */
  readonly #messages = new Map<string, number>();
  readonly #blockHashes = new Set<string>();
  readonly #transactions = new Map<string, AcceptedTransaction>();
  /** Timestamp of the genesis, in Unix milliseconds. */
  readonly #startedMs: number;
  #lastBlockMs = 0;
  #bytes = 0;
  #height = 0;

  constructor(options: EvmChainOptions) {
    this.vm = options.vm;
    this.blockchainID = options.blockchainID;
    this.uptimes = options.uptimes;
    this.evmChainID = options.vm === 'coreth' ? 43_112 : 99_999;
    this.#startedMs = options.clock.now();
    this.executionLagMs = options.executionLagMs ?? 0;
    this.chainConfig = { warpConfig: { blockTimestamp: 0, quorumNumerator: 67, ...options.warpConfig } };
    this.#options = options;
  }

  /** The account that emits messages unless another one is given: 20 bytes. */
  get account(): Uint8Array {
    return this.#options.sender;
  }

  /** Number of the last accepted block. */
  get height(): number {
    return this.#height;
  }

  /** Emits an AddressedCall, in a transaction. */
  emit(payload: Uint8Array): UnsignedMessage {
    const message = this.prepare(payload);
    this.#transact([message]);
    return message;
  }

  /** Accepts a transaction that emits a message for each payload unless it fails. */
  transact(
    payloads: readonly Uint8Array[],
    status: 'succeeded' | 'failed' = 'succeeded',
    sender = this.#options.sender,
  ): EvmTransaction {
    const hasFailed = status === 'failed';
    const messages = hasFailed ? [] : payloads.map((payload) => this.prepare(payload, sender));
    return this.#transact(messages, hasFailed, sender);
  }

  #transact(messages: readonly UnsignedMessage[], hasFailed = false, sender = this.#options.sender): EvmTransaction {
    const acceptedMs = this.#options.clock.monotonicMs();
    this.#height += 1;
    const number = this.#height;
    const hash = this.#hashOf('transaction', number);
    const block = { number, hash: this.#hashOf('block', number) };
    // No block is older than its parent.
    const blockTimeMs = Math.max(this.#options.clock.now(), this.#lastBlockMs);
    this.#lastBlockMs = blockTimeMs;
    const transaction = { hash, block, messages, hasFailed, sender, acceptedMs, blockTimeMs };
    this.#addBlockHash(block.hash.slice(2));
    // A repeated message keeps the time of its first block.
    for (const { id } of messages) if (!this.#messages.has(id)) this.#messages.set(id, acceptedMs);
    keepNewest(this.#messages);
    this.#transactions.set(hash, transaction);
    this.#bytes += sizeOf(transaction);
    while (this.#bytes > MAX_BLOCK_BYTES) {
      const [oldest] = this.#transactions.values();
      if (oldest === undefined) break;
      this.#transactions.delete(oldest.hash);
      this.#bytes -= sizeOf(oldest);
    }
    return transaction;
  }

  /** The result of `eth_getTransactionReceipt`; undefined for a transaction that is unknown or not executed yet. */
  receipt(hash: string): object | undefined {
    const transaction = this.#transactions.get(hash);
    if (transaction === undefined || !this.#isExecuted(transaction.acceptedMs)) return undefined;
    return receiptOf(transaction);
  }

  /** The result of `eth_getBlockByNumber` without transactions; undefined for a block that is not accepted, or was dropped. */
  block(number: number): object | undefined {
    const transaction = this.#transactions.get(this.#hashOf('transaction', number));
    if (transaction === undefined && number !== 0) return undefined;
    const timeMs = transaction?.blockTimeMs ?? this.#startedMs;
    return {
      number: quantity(number),
      hash: this.#hashOf('block', number),
      parentHash: number === 0 ? `0x${'0'.repeat(64)}` : this.#hashOf('block', number - 1),
      timestamp: quantity(Math.floor(timeMs / 1_000)),
      timestampMilliseconds: quantity(timeMs),
      transactions: transaction === undefined ? [] : [transaction.hash],
    };
  }

  /** The result of `eth_getBlockReceipts`; undefined for a block that is unknown or not executed yet. */
  blockReceipts(number: number): object[] | undefined {
    if (number === 0) return [];
    const receipt = this.receipt(this.#hashOf('transaction', number));
    return receipt && [receipt];
  }

  /** Returns the height of an accepted block by its hash. */
  heightOf(blockHash: string): number | undefined {
    for (const { block } of this.#transactions.values()) if (block.hash === blockHash) return block.number;
    return blockHash === this.#hashOf('block', 0) ? 0 : undefined;
  }

  /** The result of `eth_getLogs`: blocks that are not executed yet have none. */
  logs({ blockHash, fromBlock, toBlock }: LogFilter): EvmLog[] {
    return [...this.#transactions.values()]
      .filter(({ block, acceptedMs }) => {
        const isSelected =
          blockHash === undefined ? block.number >= fromBlock && block.number <= toBlock : block.hash === blockHash;
        return isSelected && this.#isExecuted(acceptedMs);
      })
      .flatMap(logsOf);
  }

  /** Returns the message that {@link emit} would return, without emitting it. */
  prepare(payload: Uint8Array, sourceAddress = this.#options.sender): UnsignedMessage {
    return this.#message(encodeWarpPayload({ kind: 'AddressedCall', sourceAddress, payload }));
  }

  /** Accepts a block, and returns the message with its hash. */
  acceptBlock(hash: Uint8Array): UnsignedMessage {
    this.#addBlockHash(bytesToHex(hash));
    return this.#message(encodeWarpPayload({ kind: 'Hash', hash }));
  }

  /** @param lagMs execution lag of the node that is asked */
  hasEmitted(message: UnsignedMessage, lagMs = this.executionLagMs): boolean {
    const acceptedMs = this.#messages.get(message.id);
    return acceptedMs !== undefined && this.#isExecuted(acceptedMs, lagMs);
  }

  hasAccepted(blockHash: Uint8Array): boolean {
    return this.#blockHashes.has(bytesToHex(blockHash));
  }

  /** Returns a hash in hex, with `0x`. */
  #hashOf(kind: 'block' | 'transaction', number: number): string {
    return `0x${hashText('sha256', `${this.blockchainID} ${kind} ${number}`)}`;
  }

  #isExecuted(acceptedMs: number, lagMs = this.executionLagMs): boolean {
    return this.#options.clock.monotonicMs() >= acceptedMs + lagMs;
  }

  #addBlockHash(hash: string): void {
    this.#blockHashes.add(hash);
    keepNewest(this.#blockHashes);
  }

  #message(payload: Uint8Array): UnsignedMessage {
    return createUnsignedMessage(this.#options.networkID, this.blockchainID, payload);
  }
}

function receiptOf(transaction: AcceptedTransaction): object {
  return {
    transactionHash: transaction.hash,
    blockHash: transaction.block.hash,
    blockNumber: quantity(transaction.block.number),
    status: transaction.hasFailed ? '0x0' : '0x1',
    logs: logsOf(transaction),
    logsBloom: logsBloomOf(logsOf(transaction)),
  };
}

function logsOf({ hash, block, messages, sender }: AcceptedTransaction): EvmLog[] {
  return messages.map(({ id, bytes }, index) => ({
    address: WARP_PRECOMPILE,
    topics: [SEND_WARP_MESSAGE, `0x${bytesToHex(sender).padStart(64, '0')}`, prefixedHex(idBytes(id))],
    data: encodeLogData(bytesToHex(bytes)),
    logIndex: quantity(index),
    transactionHash: hash,
    transactionIndex: quantity(0),
    blockHash: block.hash,
    blockNumber: quantity(block.number),
  }));
}

function sizeOf({ messages }: AcceptedTransaction): number {
  return messages.reduce((sum, { bytes }) => sum + 2 * bytes.length, BLOCK_BYTES);
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`;
}

function keepNewest(entries: Map<string, unknown> | Set<string>): void {
  for (const key of entries.keys()) {
    if (entries.size <= MAX_SIGNABLE) return;
    entries.delete(key);
  }
}
