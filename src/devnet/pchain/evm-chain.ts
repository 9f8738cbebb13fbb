import { hash as hashText } from 'node:crypto';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
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

export interface EvmTransaction {
  /** In hex, with `0x`. */
  readonly hash: string;
  readonly messages: readonly UnsignedMessage[];
}

/** The fields of a receipt that are about Warp messages. */
interface EvmReceiptJson {
  readonly transactionHash: string;
  readonly blockNumber: string;
  readonly status: string;
  readonly logs: readonly object[];
}

export interface EvmChainOptions {
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
  readonly #networkID: number;
  readonly #sender: Uint8Array;
  readonly #messages = new Set<string>();
  readonly #blocks = new Set<string>();
  /** By hash. */
  readonly #receipts = new Map<string, EvmReceiptJson>();

  constructor({ vm, networkID, blockchainID, sender, uptimes }: EvmChainOptions) {
    this.vm = vm;
    this.blockchainID = blockchainID;
    this.#networkID = networkID;
    this.#sender = sender;
    this.uptimes = uptimes;
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

  /** A transaction of the chain's account, in a block of its own: it emits a message for each payload unless it fails. */
  transact(payloads: readonly Uint8Array[], status: 'succeeded' | 'failed' = 'succeeded'): EvmTransaction {
    const messages = status === 'failed' ? [] : payloads.map((payload) => this.emit(payload));
    const hash = `0x${hashText('sha256', `${this.blockchainID} ${this.#receipts.size}`)}`;
    const sender = `0x${bytesToHex(this.#sender).padStart(64, '0')}`;
    this.#receipts.set(hash, {
      transactionHash: hash,
      blockNumber: `0x${(this.#receipts.size + 1).toString(16)}`,
      status: status === 'failed' ? '0x0' : '0x1',
      logs: messages.map(({ id, bytes }, index) => ({
        address: WARP_PRECOMPILE,
        topics: [SEND_WARP_MESSAGE, sender, `0x${bytesToHex(idBytes(id))}`],
        data: encodeLogData(bytesToHex(bytes)),
        logIndex: `0x${index.toString(16)}`,
        transactionHash: hash,
        removed: false,
      })),
    });
    return { hash, messages };
  }

  /** As `eth_getTransactionReceipt` returns it; undefined for an unknown transaction. */
  receipt(hash: string): EvmReceiptJson | undefined {
    return this.#receipts.get(hash);
  }

  /** The message that {@link emit} would make, without emitting it. */
  prepare(payload: Uint8Array): UnsignedMessage {
    const call = encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: this.#sender, payload });
    return createUnsignedMessage(this.#networkID, this.blockchainID, call);
  }

  /** The message that a block was accepted. */
  acceptBlock(hash: Uint8Array): UnsignedMessage {
    this.#blocks.add(bytesToHex(hash));
    return createUnsignedMessage(this.#networkID, this.blockchainID, encodeWarpPayload({ kind: 'Hash', hash }));
  }

  hasEmitted(message: UnsignedMessage): boolean {
    return this.#messages.has(message.id);
  }

  hasAccepted(blockHash: Uint8Array): boolean {
    return this.#blocks.has(bytesToHex(blockHash));
  }
}
