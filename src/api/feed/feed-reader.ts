import {
  type BlockPosition,
  type ChainProgress,
  comparePositions,
  endOfBlock,
  type FeedMessage,
  keyOfPosition,
  type MessagePosition,
  type MessageReader,
} from '../../feed/feed-message.ts';
import { type ChainCursor, type ChainKey, type Cursor, chainKeyOf, ORIGIN } from './cursor.ts';
import type { FeedQuery } from './feed-query.ts';

/** Messages of one read of the store. */
const BATCH = 64;
/** Changes that one read of the store looks at, most of which its query may not select. */
const MAX_CHANGES = 2_000;
/** Pending messages that a stream delivers later. It delivers others at once. */
const MAX_DELAYED = 1_000;

export interface FeedReaderOptions {
  readonly store: MessageReader;
  readonly query: FeedQuery;
  readonly cursor: Cursor;
  /** Time after its execution in which a pending message is not delivered, since it is mostly signed by then; 0 for pages. */
  readonly delayMs?: number;
}

interface Delayed {
  readonly position: MessagePosition;
  readonly untilMs: number;
}

/**
 * Reads the messages of a query: first by position, those of chains that the cursor's store did not have or has not read up to their watermarks,
 * then by change. Its cursor is right after each message.
 */
export class FeedReader {
  readonly #store: MessageReader;
  readonly #query: FeedQuery;
  readonly #delayMs: number;
  readonly #chains: Map<ChainKey, ChainCursor>;
  readonly #delayed = new Map<string, Delayed>();
  #change: number;
  /** Messages that the current {@link read} may still look at. */
  #left = 0;
  #isCaughtUp = false;

  constructor({ store, query, cursor, delayMs = 0 }: FeedReaderOptions) {
    this.#store = store;
    this.#query = query;
    this.#delayMs = delayMs;
    this.#chains = new Map(cursor.chains);
    this.#change = cursor.change;
    if (store.hasChanges(cursor.opening, cursor.change)) return;
    this.#change = store.lastChange();
    for (const [key, { settled }] of this.#chains) this.#chains.set(key, { settled, read: settled });
    for (const { chainID, storedAfter } of this.chains) {
      const key = chainKeyOf(chainID);
      if (!this.#chains.has(key)) this.#chains.set(key, { settled: storedAfter, read: storedAfter });
    }
  }

  get cursor(): Cursor {
    return { opening: this.#store.opening, change: this.#change, chains: new Map(this.#chains) };
  }

  /** The chains of the query. */
  get chains(): readonly ChainProgress[] {
    const { sourceChainID } = this.#query;
    return this.#store.progress().filter(({ chainID }) => sourceChainID === undefined || chainID === sourceChainID);
  }

  /** The chains of the query if the last {@link read} has returned all messages of the store. */
  get caughtUp(): readonly ChainProgress[] {
    return this.#isCaughtUp ? this.chains : [];
  }

  /** When a delayed message is to be delivered, in Unix milliseconds; infinity if there is none. */
  get delayedUntilMs(): number {
    const [first] = this.#delayed.values();
    return first?.untilMs ?? Number.POSITIVE_INFINITY;
  }

  /** Returns a cursor at the oldest stored messages if messages after this reader's cursor were removed, and else undefined. */
  oldestIfExpired(): Cursor | undefined {
    const chains = this.chains.map((chain) => ({ chain, cursor: this.#chains.get(chainKeyOf(chain.chainID)) }));
    const isExpired = chains.some(({ chain: { storedAfter, removedChange }, cursor }) =>
      cursor?.read === undefined ? this.#change < removedChange : comparePositions(cursor.read, storedAfter) < 0,
    );
    if (!isExpired) return undefined;
    const oldest = new Map(this.#chains);
    for (const { chain, cursor } of chains) {
      const settled = later(chain.storedAfter, cursor?.settled ?? ORIGIN);
      oldest.set(chainKeyOf(chain.chainID), { settled, read: settled });
    }
    return { opening: this.#store.opening, change: this.#store.lastChange(), chains: oldest };
  }

  /**
   * Reads messages in one turn of the event loop. After each message, {@link cursor} includes it.
   *
   * @param max messages to look at
   */
  *read(nowMs: number, max: number): Generator<FeedMessage, 'caught up' | 'more'> {
    this.#isCaughtUp = false;
    this.#left = max;
    yield* this.#readDelayed(nowMs);
    for (const message of this.#readPositions()) if (!this.#delay(message, nowMs)) yield message;
    if (this.#left <= 0 || this.#positions().size > 0) return 'more';
    for (const message of this.#readChanges()) if (!this.#delay(message, nowMs)) yield message;
    if (this.#left <= 0 || this.#change < this.#store.lastChange()) return 'more';
    for (const { chainID, settled } of this.chains) this.#chains.set(chainKeyOf(chainID), { settled });
    this.#isCaughtUp = true;
    return 'caught up';
  }

  /** Chains of the store that are read by position. */
  #positions(): Map<ChainProgress, BlockPosition> {
    const positions = new Map<ChainProgress, BlockPosition>();
    for (const chain of this.chains) {
      const read = this.#chains.get(chainKeyOf(chain.chainID))?.read;
      if (read !== undefined) positions.set(chain, read);
    }
    return positions;
  }

  *#readPositions(): Generator<FeedMessage> {
    for (let positions = this.#positions(); positions.size > 0 && this.#left > 0; positions = this.#positions()) {
      const limit = Math.min(BATCH, this.#left);
      const after = new Map([...positions].map(([{ chainID }, read]) => [chainID, read]));
      const batch = this.#store.page({ ...this.#query, after, limit });
      const chains = new Map([...positions.keys()].map((chain) => [chain.chainID, chain]));
      for (const message of batch) {
        this.#left -= 1;
        const chain = chains.get(message.chainID) as ChainProgress;
        // A change that this reader has yet to read.
        const isLater = message.change > this.#change;
        this.#advance(chain, message, isLater);
        if (!isLater) yield message;
      }
      if (batch.length === limit) continue;
      for (const chain of positions.keys()) {
        const { settled } = this.#advance(chain, endOfBlock(chain.watermark.blockNumber), false);
        this.#chains.set(chainKeyOf(chain.chainID), { settled });
      }
    }
  }

  /** Moves the position that was read, and the settled one with it as long as nothing between them may change. */
  #advance({ chainID, settled: settledInStore }: ChainProgress, to: BlockPosition, isUnread: boolean): ChainCursor {
    const key = chainKeyOf(chainID);
    const { settled, read = settled } = this.#chains.get(key) as ChainCursor;
    const follows = !isUnread && comparePositions(settled, read) === 0;
    const advanced = {
      settled: follows ? later(settled, earlier(to, settledInStore)) : settled,
      read: later(read, to),
    };
    this.#chains.set(key, advanced);
    return advanced;
  }

  *#readChanges(): Generator<FeedMessage> {
    const filters = { ...this.#query, chainID: this.#query.sourceChainID };
    const through = Math.min(this.#store.lastChange(), this.#change + MAX_CHANGES);
    while (this.#change < through && this.#left > 0) {
      const limit = Math.min(BATCH, this.#left);
      const batch = this.#store.changes({ ...filters, after: this.#change, through, limit });
      for (const message of batch) {
        this.#left -= 1;
        this.#change = message.change;
        yield message;
      }
      if (batch.length < limit) this.#change = through;
    }
  }

  /** Delays a pending message, unless it is old or the query is for pending ones. */
  #delay(message: FeedMessage, nowMs: number): boolean {
    const { outcome, executedMs, chainID, blockNumber, logIndex } = message;
    const position = { chainID, blockNumber, logIndex };
    if (outcome.status !== 'pending') {
      this.#delayed.delete(keyOfPosition(position));
      return false;
    }
    const untilMs = executedMs + this.#delayMs;
    if (untilMs <= nowMs || this.#query.status === 'pending' || this.#delayed.size >= MAX_DELAYED) return false;
    this.#delayed.set(keyOfPosition(position), { position, untilMs });
    return true;
  }

  *#readDelayed(nowMs: number): Generator<FeedMessage> {
    for (const [key, { position, untilMs }] of this.#delayed) {
      if (untilMs > nowMs || this.#left <= 0) return;
      this.#left -= 1;
      this.#delayed.delete(key);
      // One that is no longer pending has a change that is still to be read.
      for (const message of this.#store.at([position])) if (message.outcome.status === 'pending') yield message;
    }
  }
}

function later(one: BlockPosition, other: BlockPosition): BlockPosition {
  return comparePositions(one, other) >= 0 ? one : other;
}

function earlier(one: BlockPosition, other: BlockPosition): BlockPosition {
  return comparePositions(one, other) <= 0 ? one : other;
}
