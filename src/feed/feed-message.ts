import type { BlockchainID, MessageID, SubnetID } from '../warp/ids.ts';
import type { UnsignedMessage } from '../warp/unsigned-message.ts';

/** A place between the messages of a chain: after the message of this log, before the next one. */
export interface BlockPosition {
  /** Height on the EVM chain. */
  readonly blockNumber: number;
  /** Index among all logs of the block, as in receipts; {@link LAST_LOG_INDEX} is behind all of them. */
  readonly logIndex: number;
}

/** Identifies a message: a contract that sends the same bytes again emits the same message ID at another position. */
export interface MessagePosition extends BlockPosition {
  readonly chainID: BlockchainID;
}

/** A Warp message that a watched chain emitted, as the chain's receipts describe it. */
export interface EmittedMessage extends MessagePosition {
  readonly message: UnsignedMessage;
  /** Address of the contract or account that called the precompile: `0x` and 40 digits in lower case. */
  readonly sender: string;
  /** Destination of a Teleporter message; undefined for others. */
  readonly destinationChainID: BlockchainID | undefined;
  /** `0x` and 64 digits in lower case, as the next. */
  readonly blockHash: string;
  readonly txHash: string;
  /** Timestamp of the block, in Unix milliseconds, as the next. */
  readonly blockTimeMs: number;
  /** When this replica first saw the receipt; the block's timestamp if it was read long afterwards. */
  readonly executedMs: number;
}

export interface FeedMessage extends EmittedMessage {
  readonly outcome: MessageOutcome;
  /** Number of the message's last change, see {@link MessageReader.changes}; 0 if that was before changes had numbers. */
  readonly change: number;
}

/**
 * `pending` until the first attempt has ended. A failed message is tried again less and less often, and becomes `signed` if that succeeds.
 * A signed message never changes.
 */
export type MessageOutcome =
  | { readonly status: 'pending' }
  | ({ readonly status: 'signed' } & MessageSignature)
  | ({ readonly status: 'failed' } & MessageFailure);

export type MessageStatus = MessageOutcome['status'];
export const MESSAGE_STATUSES = ['pending', 'signed', 'failed'] as const satisfies readonly MessageStatus[];

export interface MessageSignature {
  /** Bytes of the signed message, verified. */
  readonly signedMessage: Uint8Array;
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly signedWeight: bigint;
  readonly totalWeight: bigint;
  /** Unix milliseconds. */
  readonly signedMs: number;
}

export interface MessageFailure {
  /** An error code of the API, such as `insufficient_weight`. */
  readonly code: string;
  /** Sentence for people. */
  readonly reason: string;
  /** Attempts so far. */
  readonly attempts: number;
  /** End of the last attempt, in Unix milliseconds. */
  readonly failedMs: number;
}

/** How far the feed has come on a chain. */
export interface ChainProgress {
  readonly chainID: BlockchainID;
  /** All messages after this position, up to the watermark, are stored. A cursor before it may have missed some: it is expired. */
  readonly storedAfter: BlockPosition;
  /** All blocks up to this one were read. */
  readonly watermark: Checkpoint;
  /** Highest block up to which all messages are signed or failed; at most that of the watermark. */
  readonly signedThrough: number;
  /** All messages up to this block were found, see `confirmed_block`; at most that of the watermark. */
  readonly confirmed: number;
  /**
   * Position up to which no more changes are expected: confirmed, and each message signed, or failed for long. A reader that changes to another
   * store reads on from there.
   */
  readonly settled: BlockPosition;
  /** The last change of a message that retention has removed; 0 for none. A reader that has not read it may miss messages. */
  readonly removedChange: number;
}

/** How far a watched chain is read, compared with its head. */
export interface WatchedChain {
  readonly chainID: BlockchainID;
  /** Highest block that the RPC has reported; undefined before the first answer. */
  readonly headBlock: number | undefined;
  /** Last block that a second reading has confirmed; undefined before the first block is read. */
  readonly confirmedBlock: number | undefined;
  /** Blocks that are not read yet, up to `headBlock`. */
  readonly distanceBlocks: number;
  /** Age of the last block that was read; 0 if no later one is known. */
  readonly distanceSeconds: number;
  /** Time for which the oldest block that no second reading has confirmed has been waiting; 0 if there is none. */
  readonly unconfirmedSeconds: number;
  /** Why the chain is not read on: its RPC fails, or contradicts what was read. For operators and clients. */
  readonly problem: string | undefined;
  /** The kind of the problem. */
  readonly problemKind: ChainProblemKind | undefined;
}

/** Why a chain is not read on, see docs/operate.md. */
export type ChainProblemKind =
  | 'rpc_failing'
  | 'rpc_behind'
  | 'rpc_contradicts'
  | 'blocks_missing'
  | 'store_failing'
  | 'bug';

/** A block that was read, with all blocks before it. */
export interface Checkpoint {
  readonly blockNumber: number;
  /** `0x` and 64 digits in lower case. */
  readonly blockHash: string;
  /** Unix milliseconds. */
  readonly blockTimeMs: number;
}

/** The last block of the second reading. Without its hash, it is the start of the first. */
export interface ConfirmedBlock {
  readonly blockNumber: number;
  readonly blockHash: string | undefined;
}

/** Selects messages; undefined fields select all. */
export interface MessageSelection {
  /** `0x` and 40 digits in lower case. */
  readonly sender?: string | undefined;
  readonly destinationChainID?: BlockchainID | undefined;
  readonly status?: MessageStatus | undefined;
  /** `0x` and 64 digits in lower case. */
  readonly txHash?: string | undefined;
}

export interface MessageQuery extends MessageSelection {
  /** The chains to read, each with the position after which it is read; before which, the newest first. */
  readonly after: ReadonlyMap<BlockchainID, BlockPosition>;
  /** The oldest first by default. */
  readonly order?: 'oldest_first' | 'newest_first';
  /** Highest number of messages. */
  readonly limit: number;
}

export interface ChangeQuery extends MessageSelection {
  readonly chainID?: BlockchainID | undefined;
  /** Messages with changes after this number, up to `through`. */
  readonly after: number;
  readonly through: number;
  /** Highest number of messages. */
  readonly limit: number;
}

/** Reads stored messages. Each call is one short read of the database. All throw {@link StoreError} if it cannot be read. */
export interface MessageReader {
  /** Random ID of this opening of the store: hex of {@link OPENING_BYTES}. Numbers of changes belong to it. */
  readonly opening: string;
  /** The number of the last change. Each insertion of a message and each change of its status has the next number. */
  lastChange(): number;
  /**
   * Whether the store has the changes up to this number of an opening. It has not if it is another store, an older copy of the file, or one whose
   * last writes were lost.
   */
  hasChanges(opening: string, change: number): boolean;
  /** Returns messages in the order of their last changes. */
  changes(query: ChangeQuery): readonly FeedMessage[];
  /** Progress of each chain that is or was watched. */
  progress(): readonly ChainProgress[];
  /**
   * Returns messages in the order of block times, and on each chain in the order of positions, or in the opposite of both. Fewer than `limit` mean that there are no
   * more up to the watermarks that {@link progress} returns in the same turn of the event loop.
   */
  page(query: MessageQuery): readonly FeedMessage[];
  /** Returns the last emission of a message. */
  find(messageID: MessageID): FeedMessage | undefined;
  /** Returns the messages at these positions, in their order, without those that retention has removed. */
  at(positions: readonly MessagePosition[]): readonly FeedMessage[];
  /** Calls back after each change of messages or progress. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void;
}

export const OPENING_BYTES = 8;
export const LAST_LOG_INDEX = 0xffff_ffff;

/** Returns the position behind all messages of a block. */
export function endOfBlock(blockNumber: number): BlockPosition {
  return { blockNumber, logIndex: LAST_LOG_INDEX };
}

/** Negative if `a` is before `b`. */
export function comparePositions(a: BlockPosition, b: BlockPosition): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
}

/** Returns a text that no other position has. */
export function keyOfPosition({ chainID, blockNumber, logIndex }: MessagePosition): string {
  return `${chainID} ${blockNumber} ${logIndex}`;
}

/** Returns the bytes of the unsigned and the signed message together. */
export function bytesOf({ message, outcome }: FeedMessage): number {
  return message.bytes.length + (outcome.status === 'signed' ? outcome.signedMessage.length : 0);
}
