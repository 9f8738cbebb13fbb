import { hash as hashText } from 'node:crypto';
import { bytesToHex, prefixedHex } from '../../lib/encoding/bytes.ts';
import { encodeLogData, SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../../pchain/codec/send-warp-log.ts';
import { type BlockchainID, idBytes } from '../../warp/ids.ts';
import { encodeWarpPayload } from '../../warp/payload.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { UptimeWatch } from '../node/uptime-watch.ts';

/**
 * How many emitted messages are remembered, in some 100 MB. A real chain remembers all of them; here the oldest are forgotten, so
 * that a network that runs for days does not grow without end.
 */
const MAX_MESSAGES = 1_000_000;

interface EvmTransaction {
  /** In hex, with `0x`. */
  readonly hash: string;
  readonly messages: readonly UnsignedMessage[];
}

interface EvmChainOptions {
  /** The C-Chain runs coreth, the L1 subnet-evm: they refuse with other codes. */
  readonly vm: 'coreth' | 'subnet-evm';
  readonly networkID: number;
  readonly blockchainID: BlockchainID;
  /** 20 bytes: the account whose messages the chain emits. */
  readonly sender: Uint8Array;
  /** Nodes of an L1 watch its validators, and sign what they have seen of them. */
  readonly uptimes?: UptimeWatch;
}

/** What an EVM chain vouches for: the Warp messages that its precompile emitted, and the blocks that it accepted. */
export class EvmChain {
  readonly vm: EvmChainOptions['vm'];
  readonly blockchainID: BlockchainID;
  readonly uptimes: UptimeWatch | undefined;
  readonly #options: EvmChainOptions;
  readonly #messages = new Set<string>();
  readonly #blocks = new Set<string>();
  /** Receipts by the hash of their transaction. */
  readonly #receipts = new Map<string, object>();

  constructor(options: EvmChainOptions) {
    this.vm = options.vm;
    this.blockchainID = options.blockchainID;
    this.uptimes = options.uptimes;
    this.#options = options;
  }

  /** An AddressedCall from the chain's account, which its validators sign from now on. */
  emit(payload: Uint8Array): UnsignedMessage {
    const message = this.prepare(payload);
    this.#messages.add(message.id);
    if (this.#messages.size > MAX_MESSAGES) {
      const [oldest] = this.#messages;
      if (oldest !== undefined) this.#messages.delete(oldest);
    }
    return message;
  }

  /** A transaction of the chain's account, in a separate block: it emits a message for each payload unless it fails. */
  transact(payloads: readonly Uint8Array[], status: 'succeeded' | 'failed' = 'succeeded'): EvmTransaction {
    const messages = status === 'failed' ? [] : payloads.map((payload) => this.emit(payload));
    const hash = `0x${hashText('sha256', `${this.blockchainID} ${this.#receipts.size}`)}`;
    const sender = `0x${bytesToHex(this.#options.sender).padStart(64, '0')}`;
    this.#receipts.set(hash, {
      transactionHash: hash,
      status: status === 'failed' ? '0x0' : '0x1',
      logs: messages.map(({ id, bytes }, index) => ({
        address: WARP_PRECOMPILE,
        topics: [SEND_WARP_MESSAGE, sender, prefixedHex(idBytes(id))],
        data: encodeLogData(bytesToHex(bytes)),
        logIndex: `0x${index.toString(16)}`,
      })),
    });
    return { hash, messages };
  }

  /** The result of `eth_getTransactionReceipt`; undefined for an unknown transaction. */
  receipt(hash: string): object | undefined {
    return this.#receipts.get(hash);
  }

  /** The message that {@link emit} would make, without emitting it. */
  prepare(payload: Uint8Array): UnsignedMessage {
    const { sender } = this.#options;
    return this.#message(encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: sender, payload }));
  }

  /** The message that a block was accepted. */
  acceptBlock(hash: Uint8Array): UnsignedMessage {
    this.#blocks.add(bytesToHex(hash));
    return this.#message(encodeWarpPayload({ kind: 'Hash', hash }));
  }

  hasEmitted(message: UnsignedMessage): boolean {
    return this.#messages.has(message.id);
  }

  hasAccepted(blockHash: Uint8Array): boolean {
    return this.#blocks.has(bytesToHex(blockHash));
  }

  #message(payload: Uint8Array): UnsignedMessage {
    return createUnsignedMessage(this.#options.networkID, this.blockchainID, payload);
  }
}
