import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import {
  createFileCheck,
  type DatabasePlace,
  databasePath,
  inTransaction,
  openDatabase,
  withStoreError,
} from '../store/local/sqlite.ts';
import { type BlockchainID, idBytes } from '../warp/ids.ts';
import {
  type BlockPosition,
  type ChainProgress,
  type ChangeQuery,
  type Checkpoint,
  type ConfirmedBlock,
  comparePositions,
  type EmittedMessage,
  endOfBlock,
  type FeedMessage,
  LAST_LOG_INDEX,
  type MessageFailure,
  type MessageOutcome,
  type MessagePosition,
  type MessageReader,
  type MessageSignature,
} from './feed-message.ts';
import {
  bytesOfRow,
  checkpointOf,
  confirmedOf,
  encodeOutcome,
  MESSAGE_SCHEMA,
  messageOf,
  positionOf,
  progressOf,
  type Row,
  readCounts,
  storedAfterOf,
  toNumber,
  valuesOf,
} from './message-schema.ts';
import { createMessageSelector } from './message-selector.ts';
import { prepareStatements } from './message-statements.ts';
import { addOpening, type Opening } from './store-openings.ts';

/** Blocks that were read in one go. */
export interface BlockBatch {
  readonly firstBlock: number;
  /** The last block. */
  readonly checkpoint: Checkpoint;
  readonly messages: readonly EmittedMessage[];
}

export interface Retention {
  /** Messages of blocks before this time go, in Unix milliseconds. */
  readonly beforeMs: number;
  readonly maxMessages: number;
  /** Limit of the messages' bytes. */
  readonly maxBytes: number;
}

/** The messages of a network's watched chains. A write is one transaction. All methods throw {@link StoreError}. */
export interface MessageStore extends MessageReader, Disposable {
  /** Returns undefined for a chain that was never watched. */
  checkpoint(chainID: BlockchainID): Checkpoint | undefined;
  /** Adds a chain that is read from the block after the checkpoint. */
  addChain(chainID: BlockchainID, checkpoint: Checkpoint): void;
  /** The last block that a second reading has confirmed, see {@link confirm}; without its hash, the start of the reading. */
  confirmed(chainID: BlockchainID): ConfirmedBlock | undefined;
  /** Moves the position of a chain. Blocks before a later one count as not read; blocks after an earlier one are read again. */
  moveChain(chainID: BlockchainID, checkpoint: Checkpoint): void;
  /** Removes a chain with all of its messages; returns how many. */
  forgetChain(chainID: BlockchainID): number;
  /** Stores the messages of the next blocks together with the checkpoint. Fails if blocks before them were not read. */
  append(chainID: BlockchainID, batch: BlockBatch): void;
  /** Stores what a second reading has found in the next blocks after the confirmed ones; returns how many messages were new. */
  confirm(chainID: BlockchainID, batch: BlockBatch): number;
  /** Time of the newest block that was read, in Unix milliseconds; undefined without chains. */
  newestBlockMs(): number | undefined;
  /** Stores messages of blocks that are read again; returns how many were new. The checkpoint stays. */
  insert(chainID: BlockchainID, firstBlock: number, lastBlock: number, messages: readonly EmittedMessage[]): number;
  /** Returns messages of this status whose next attempt is due, in the order of their due times. */
  due(status: 'pending' | 'failed', nowMs: number, limit: number): readonly FeedMessage[];
  /** Makes messages due now whose next attempt is later than `latestMs`: a clock was ahead when they were delayed. */
  hasten(nowMs: number, latestMs: number): void;
  /** Delays the attempt at a pending message, which stays pending. */
  postpone(position: MessagePosition, nextAttemptMs: number): void;
  setSigned(position: MessagePosition, signature: MessageSignature): void;
  setFailed(position: MessagePosition, failure: MessageFailure, nextAttemptMs: number): void;
  /** Removes the oldest messages, at most {@link PRUNE_LIMIT} a call; returns how many. */
  prune(retention: Retention): number;
  counts(): StoreCounts;
}

export interface StoreCounts {
  readonly messages: number;
  /** Bytes of unsigned and signed messages. */
  readonly bytes: number;
  /** Execution of the oldest message that is not signed, in Unix milliseconds. */
  readonly oldestUnsignedMs: number | undefined;
}

export const FILE_KIND = 'feed-messages';
/** Bounds the time for which one call blocks the event loop. */
export const PRUNE_LIMIT = 500;

/** Results of reads of changes since the last write. */
const MAX_RECENT_READS = 16;

/** Whether there is a file with messages, or was one. */
export function hasMessageStore(place: DatabasePlace): boolean {
  return existsSync(databasePath(FILE_KIND, place));
}

type OnUnreadable = (position: MessagePosition, error: unknown) => void;

/**
 * @param onUnreadable called with a message that is damaged in the file, and is left out of what is read
 * @throws {StoreError} if the file cannot be opened, is no database, or was written by another version
 */
export function openMessageStore(place: DatabasePlace, onUnreadable: OnUnreadable = () => undefined): MessageStore {
  const path = databasePath(FILE_KIND, place);
  const database = openDatabase(path, place.directory, MESSAGE_SCHEMA, readCounts);
  try {
    return createMessageStore(database, path, onUnreadable);
  } catch (error) {
    database.close();
    throw error;
  }
}

function createMessageStore(database: DatabaseSync, path: string, onUnreadable: OnUnreadable): MessageStore {
  const statements = prepareStatements(database);
  const select = createMessageSelector(database, readable);
  const listeners = new Set<() => void>();
  const openings = withStoreError('write', path, MESSAGE_SCHEMA, () => addOpening(database));
  const requireFile = createFileCheck(path);
  const { id: opening, afterChange } = openings.at(-1) as Opening;
  let lastChange = afterChange;
  let counts = readCounts(database);
  // A write wakes all streams, and most of them have read all before it: they share one read.
  let recentProgress: readonly ChainProgress[] | undefined;
  const recentChanges = new Map<string, readonly FeedMessage[]>();

  const read = <T>(act: () => T): T => withStoreError('read', path, MESSAGE_SCHEMA, act);
  const write = <T>(act: () => T): T =>
    withStoreError('write', path, MESSAGE_SCHEMA, () => {
      requireFile();
      try {
        return inTransaction(database, act);
      } catch (error) {
        counts = readCounts(database);
        throw error;
      } finally {
        recentProgress = undefined;
        recentChanges.clear();
      }
    });
  const changed = (): void => {
    for (const listener of listeners) listener();
  };

  /** A message at the same place of another block, which is no longer on the chain, is replaced. */
  function insertNew(message: EmittedMessage): number {
    const isInserted = insertAt(message) || (removeOther(message) && insertAt(message));
    if (!isInserted) return 0;
    lastChange += 1;
    counts = { messages: counts.messages + 1, bytes: counts.bytes + message.message.bytes.length };
    return 1;
  }

  function insertAt(message: EmittedMessage): boolean {
    return statements.insert.run(...valuesOf(message, lastChange + 1)).changes > 0;
  }

  function removeOther({ chainID, blockNumber, logIndex, blockHash }: EmittedMessage): boolean {
    const row = statements.at.get(chainID, blockNumber, logIndex);
    if (row === undefined || row['block_hash'] === blockHash) return false;
    statements.remove.run(chainID, blockNumber, logIndex);
    counts = { messages: counts.messages - 1, bytes: counts.bytes - bytesOfRow(row) };
    return true;
  }

  function readable(row: Row | undefined): FeedMessage[] {
    if (row === undefined) return [];
    try {
      return [messageOf(row)];
    } catch (error) {
      onUnreadable(positionOf(row), error);
      return [];
    }
  }

  /** Leaves out a damaged message, and takes it from the queue. */
  function takeDue(row: Row): FeedMessage[] {
    const found = readable(row);
    const { chainID, blockNumber, logIndex } = positionOf(row);
    if (found.length === 0) statements.neverDue.run(chainID, blockNumber, logIndex);
    return found;
  }

  function messageAt({ chainID, blockNumber, logIndex }: MessagePosition): readonly FeedMessage[] {
    return readable(statements.at.get(chainID, blockNumber, logIndex));
  }

  function storedChain(chainID: BlockchainID): Row | undefined {
    return statements.chain.get(chainID);
  }

  function requireChain(chainID: BlockchainID): Row {
    const row = storedChain(chainID);
    if (row === undefined) throw new RangeError(`chain ${chainID} was not added`);
    return row;
  }

  function settle(position: MessagePosition, outcome: MessageOutcome, nextAttemptMs: number | null): void {
    const { chainID, blockNumber, logIndex } = position;
    const signed = outcome.status === 'signed' ? outcome.signedMessage : null;
    const before = write(() => {
      const row = statements.status.get(chainID, blockNumber, logIndex);
      // Retention may have removed it meanwhile, and what is signed stays signed.
      if (row === undefined || row['status'] === 'signed') return undefined;
      const isChange = row['status'] !== outcome.status;
      if (isChange) lastChange += 1;
      const values = [outcome.status, signed, encodeOutcome(outcome), nextAttemptMs, isChange ? lastChange : null];
      statements.settle.run(...values, chainID, blockNumber, logIndex);
      counts = { ...counts, bytes: counts.bytes + (signed?.length ?? 0) };
      return row['status'];
    });
    if (before !== undefined && before !== outcome.status) changed();
  }

  function removeOldest({ beforeMs, maxMessages, maxBytes }: Retention): number {
    let removed = 0;
    for (const row of statements.oldest.all(PRUNE_LIMIT)) {
      const isExcess = counts.messages > maxMessages || counts.bytes > maxBytes;
      if (!isExcess && Number(row['block_time_ms']) >= beforeMs) break;
      const chainID = String(row['chain_id']);
      const [blockNumber, logIndex] = [Number(row['block_number']), Number(row['log_index'])];
      statements.remove.run(chainID, blockNumber, logIndex);
      noteRemoved(requireChain(chainID as BlockchainID), { blockNumber, logIndex }, Number(row['change']));
      counts = { messages: counts.messages - 1, bytes: counts.bytes - Number(row['bytes']) };
      removed += 1;
    }
    return removed;
  }

  function noteRemoved(chain: Row, position: BlockPosition, change: number): void {
    const chainID = String(chain['chain_id']);
    if (change > Number(chain['removed_change'])) statements.setRemovedChange.run(change, chainID);
    if (comparePositions(position, storedAfterOf(chain)) <= 0) return;
    statements.setStoredAfter.run(position.blockNumber, position.logIndex, chainID);
  }

  function readProgress(): readonly ChainProgress[] {
    recentProgress ??= statements.chains.all().map(progressOf);
    return recentProgress;
  }

  function readChanges(query: ChangeQuery): readonly FeedMessage[] {
    const { chainID, sender, destinationChainID, status, txHash, after, through, limit } = query;
    const key = [after, through, limit, chainID, sender, destinationChainID, status, txHash].join();
    const known = recentChanges.get(key);
    if (known !== undefined) return known;
    const messages = select.changes(query);
    if (recentChanges.size < MAX_RECENT_READS) recentChanges.set(key, messages);
    return messages;
  }

  return {
    opening,
    lastChange: () => lastChange,
    hasChanges(id, change) {
      const index = openings.findIndex((each) => each.id === id);
      return index >= 0 && change <= (openings[index + 1]?.afterChange ?? lastChange);
    },
    changes: (query) => read(() => readChanges(query)),
    progress: () => read(readProgress),
    page: (query) => read(() => select.page(query)),
    find: (messageID) => read(() => readable(statements.byMessageID.get(idBytes(messageID)))[0]),
    at: (positions) => read(() => positions.flatMap(messageAt)),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    checkpoint: (chainID) =>
      read(() => {
        const row = storedChain(chainID);
        return row && checkpointOf(row);
      }),
    addChain(chainID, checkpoint) {
      const { blockNumber, logIndex } = endOfBlock(checkpoint.blockNumber);
      const values = [checkpoint.blockNumber, checkpoint.blockHash, checkpoint.blockTimeMs, blockNumber, logIndex];
      write(() => statements.addChain.run(chainID, ...values, checkpoint.blockNumber, null, 0));
      changed();
    },
    moveChain(chainID, checkpoint) {
      write(() => {
        const chain = requireChain(chainID);
        const { blockNumber: number, blockHash, blockTimeMs } = checkpoint;
        statements.setCheckpoint.run(number, blockHash, blockTimeMs, chainID);
        const isForward = number > checkpointOf(chain).blockNumber;
        const isBeforeStored = comparePositions(endOfBlock(number), storedAfterOf(chain)) < 0;
        if (isForward || isBeforeStored) statements.setStoredAfter.run(number, LAST_LOG_INDEX, chainID);
        if (isForward || number < confirmedOf(chain).blockNumber) statements.setConfirmed.run(number, null, chainID);
        if (!isForward) return;
        // Readers learn that blocks are missing.
        lastChange += 1;
        statements.setRemovedChange.run(lastChange, chainID);
      });
      changed();
    },
    forgetChain(chainID) {
      const removed = write(() => {
        const { changes } = statements.removeAll.run(chainID);
        statements.removeChain.run(chainID);
        // Their numbers are not given again.
        statements.setAfterChange.run(lastChange, opening);
        counts = readCounts(database);
        return Number(changes);
      });
      changed();
      return removed;
    },
    confirmed: (chainID) =>
      read(() => {
        const row = storedChain(chainID);
        return row && confirmedOf(row);
      }),
    confirm(chainID, { firstBlock, checkpoint, messages }) {
      requireInRange(messages, chainID, firstBlock, checkpoint.blockNumber);
      const added = write(() => {
        const chain = requireChain(chainID);
        const { blockNumber: read } = checkpointOf(chain);
        if (firstBlock !== confirmedOf(chain).blockNumber + 1 || checkpoint.blockNumber > read) {
          throw new RangeError(`blocks ${firstBlock} to ${checkpoint.blockNumber} are not the next to be confirmed`);
        }
        const count = messages.reduce((sum, message) => sum + insertNew(message), 0);
        statements.setConfirmed.run(checkpoint.blockNumber, checkpoint.blockHash, chainID);
        return count;
      });
      changed();
      return added;
    },
    newestBlockMs: () => read(() => toNumber(statements.newestBlock.get()?.['newest'])),
    append(chainID, { firstBlock, checkpoint, messages }) {
      requireInRange(messages, chainID, firstBlock, checkpoint.blockNumber);
      write(() => {
        const { blockNumber } = checkpointOf(requireChain(chainID));
        const isNext = firstBlock === blockNumber + 1 && checkpoint.blockNumber >= firstBlock;
        // Another process that has the same file may have read on.
        if (!isNext)
          throw new RangeError(`block ${firstBlock} does not follow block ${blockNumber}, the last one read`);
        for (const message of messages) insertNew(message);
        const { blockHash, blockTimeMs } = checkpoint;
        statements.setCheckpoint.run(checkpoint.blockNumber, blockHash, blockTimeMs, chainID);
      });
      changed();
    },
    insert(chainID, firstBlock, lastBlock, messages) {
      requireInRange(messages, chainID, firstBlock, lastBlock);
      const added = write(() => {
        const chain = requireChain(chainID);
        const storedAfter = storedAfterOf(chain);
        const below = endOfBlock(firstBlock - 1);
        const reachesStored = comparePositions(endOfBlock(lastBlock), storedAfter) >= 0;
        if (reachesStored && comparePositions(below, storedAfter) < 0) {
          statements.setStoredAfter.run(below.blockNumber, below.logIndex, chainID);
        }
        return messages.reduce((sum, message) => sum + insertNew(message), 0);
      });
      changed();
      return added;
    },
    due: (status, nowMs, limit) => read(() => statements.due.all(status, nowMs, limit).flatMap(takeDue)),
    hasten: (nowMs, latestMs) => write(() => void statements.hasten.run(nowMs, latestMs)),
    postpone: ({ chainID, blockNumber, logIndex }, nextMs) =>
      write(() => void statements.postpone.run(nextMs, chainID, blockNumber, logIndex)),
    setSigned: (position, signature) => settle(position, { status: 'signed', ...signature }, null),
    setFailed: (position, failure, nextMs) => settle(position, { status: 'failed', ...failure }, nextMs),
    prune: (retention) => write(() => removeOldest(retention)),
    counts: () => read(() => ({ ...counts, oldestUnsignedMs: toNumber(statements.oldestUnsigned.get()?.['oldest']) })),
    [Symbol.dispose]: () => database.close(),
  };
}

function requireInRange(messages: readonly EmittedMessage[], chainID: BlockchainID, first: number, last: number): void {
  const isOutside = (message: EmittedMessage) =>
    message.chainID !== chainID || message.blockNumber < first || message.blockNumber > last;
  if (messages.some(isOutside)) throw new RangeError(`a message is outside of blocks ${first} to ${last}`);
}
