import {
  type BlockPosition,
  type ChainProgress,
  comparePositions,
  endOfBlock,
  type FeedMessage,
  keyOfPosition,
  type MessagePosition,
  type MessageReader,
  type MessageStatus,
} from '../../feed/feed-message.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { ChainReading } from './chain-reading.ts';
import type { Cursor } from './cursor.ts';
import type { FeedQuery } from './feed-query.ts';

/** Messages of one read of the store. */
const BATCH = 64;
/** Positions whose messages were settled, and that were not looked up yet. A stream whose client reads too slowly has many. */
const MAX_SETTLED = 10_000;

export interface FeedReaderOptions {
  readonly store: MessageReader;
  readonly query: FeedQuery;
  readonly cursor: Cursor;
  /** Of a stream: time after its execution for which a pending message holds up later ones of its chain. Pages have none. */
  readonly holdMs?: number;
}

interface Hold {
  readonly position: BlockPosition;
  readonly untilMs: number;
}

/**
 * Reads the messages of a query in the order in which they are delivered: those that were delivered unsigned and are settled now, then
 * new ones, in order per chain. Its cursor is right after each message.
 */
export class FeedReader {
  readonly #store: MessageReader;
  readonly #query: FeedQuery;
  readonly #holdMs: number;
  readonly #isStream: boolean;
  readonly #chains = new Map<BlockchainID, ChainReading>();
  readonly #settled = new Map<string, MessagePosition>();
  readonly #held = new Map<BlockchainID, Hold>();

  constructor({ store, query, cursor, holdMs }: FeedReaderOptions) {
    this.#store = store;
    this.#query = query;
    this.#holdMs = holdMs ?? 0;
    // The next page reads on; a stream has no next one.
    this.#isStream = holdMs !== undefined;
    const progress = this.#progress();
    for (const { chainID, storedAfter } of progress) {
      const reading = new ChainReading(
        cursor.get(chainID) ?? { after: storedAfter, unsigned: [] },
        progress.length,
        this.#isStream,
      );
      this.#chains.set(chainID, reading);
      for (const position of reading.unsigned) this.#addSettled({ chainID, ...position });
    }
  }

  get cursor(): Cursor {
    return new Map([...this.#chains].map(([chainID, reading]) => [chainID, reading.cursor]));
  }

  /** The chains of the query. */
  get chains(): readonly ChainProgress[] {
    return this.#progress();
  }

  /** Chains of the query whose messages up to the watermark were read. */
  get caughtUp(): readonly ChainProgress[] {
    return this.#progress().filter((chain) => {
      const after = this.#chains.get(chain.chainID)?.after;
      return after !== undefined && comparePositions(after, endOfBlock(chain.watermark.blockNumber)) >= 0;
    });
  }

  /** When the next pending message no longer holds up its chain, in Unix milliseconds; infinity if there is none. */
  get heldUntilMs(): number {
    return Math.min(...[...this.#held.values()].map(({ untilMs }) => untilMs));
  }

  /**
   * Returns a cursor at the oldest stored messages of those chains that have removed messages after this reader's cursor; undefined if no
   * message was removed.
   */
  oldestIfExpired(): Cursor | undefined {
    const expired = this.#progress().filter(({ chainID, storedAfter }) => {
      const after = this.#chains.get(chainID)?.after;
      return after !== undefined && comparePositions(after, storedAfter) < 0;
    });
    if (expired.length === 0) return undefined;
    const cursor = new Map(this.cursor);
    for (const { chainID, storedAfter } of expired) cursor.set(chainID, { after: storedAfter, unsigned: [] });
    return cursor;
  }

  /** Takes note that the status of a message has changed. @returns whether the reader is so far behind that it cannot take more notes */
  settle(position: MessagePosition): boolean {
    const reading = this.#chains.get(position.chainID);
    if (reading === undefined) return false;
    if (comparePositions(position, reading.after) <= 0) this.#addSettled(position);
    const hold = this.#held.get(position.chainID);
    if (hold !== undefined && comparePositions(hold.position, position) === 0) this.#held.delete(position.chainID);
    return this.#settled.size > MAX_SETTLED;
  }

  /**
   * Reads messages in one turn of the event loop. After each message, {@link cursor} includes it.
   *
   * @param maxExamined messages to look at, among them those that the query does not select
   */
  *read(nowMs: number, maxExamined: number): Generator<FeedMessage, 'caught up' | 'more'> {
    let left = maxExamined;
    const isSelected = (message: FeedMessage): boolean => {
      left -= 1;
      return isOf(this.#query, message);
    };
    for (const message of this.#readSettled(() => left)) if (isSelected(message)) yield message;
    for (const message of this.#readUnlisted(() => left)) if (isSelected(message)) yield message;
    for (const message of this.#readNew(nowMs, () => left)) if (isSelected(message)) yield message;
    return left > 0 ? 'caught up' : 'more';
  }

  *#readSettled(left: () => number): Generator<FeedMessage> {
    while (this.#settled.size > 0 && left() > 0) {
      const positions = [...this.#settled.values()].slice(0, Math.min(BATCH, left()));
      const found = new Map(this.#store.at(positions).map((message) => [keyOfPosition(message), message]));
      for (const position of positions) {
        const key = keyOfPosition(position);
        this.#settled.delete(key);
        const message = found.get(key);
        const reading = this.#chains.get(position.chainID);
        if (message !== undefined && reading?.settle(message) === true) yield message;
      }
    }
    if (this.#settled.size === 0) this.#forgetRemoved();
  }

  /** Forgets messages that were removed unsigned. */
  #forgetRemoved(): void {
    for (const { chainID, storedAfter } of this.#progress()) this.#chains.get(chainID)?.forgetUpTo(storedAfter);
  }

  *#readUnlisted(left: () => number): Generator<FeedMessage> {
    for (const [chainID, reading] of this.#chains) {
      for (let range = reading.unlisted; range !== undefined && left() > 0; range = reading.unlisted) {
        const { end, read } = range;
        if (comparePositions(read, end) >= 0) break;
        const limit = Math.min(BATCH, left());
        const batch = this.#store.page({ ...this.#filters, after: new Map([[chainID, read]]), limit });
        const inRange = batch.filter((message) => comparePositions(message, end) <= 0);
        for (const message of inRange) {
          reading.readAgain(message);
          if (message.outcome.status !== 'pending') yield message;
        }
        if (inRange.length < limit) reading.endReadingAgain();
      }
    }
  }

  *#readNew(nowMs: number, left: () => number): Generator<FeedMessage> {
    for (const [chainID, { untilMs }] of this.#held) if (untilMs <= nowMs) this.#held.delete(chainID);
    while (left() > 0) {
      const progress = this.#progress();
      this.#addChains(progress);
      const open = [...this.#chains].filter(([chainID]) => !this.#held.has(chainID));
      if (open.length === 0) return;
      const after = new Map(open.map(([chainID, reading]) => [chainID, reading.after]));
      const limit = Math.min(BATCH, left());
      const batch = this.#store.page({ ...this.#filters, after, limit });
      for (const message of batch) {
        if (this.#held.has(message.chainID) || this.#hold(message, nowMs)) continue;
        this.#chains.get(message.chainID)?.advance(message);
        yield message;
      }
      if (batch.length < limit) {
        for (const { chainID, watermark } of progress) {
          if (!this.#held.has(chainID)) this.#chains.get(chainID)?.skipTo(endOfBlock(watermark.blockNumber));
        }
        return;
      }
    }
  }

  #hold(message: FeedMessage, nowMs: number): boolean {
    const untilMs = message.executedMs + this.#holdMs;
    if (message.outcome.status !== 'pending' || untilMs <= nowMs) return false;
    const { blockNumber, logIndex } = message;
    this.#held.set(message.chainID, { position: { blockNumber, logIndex }, untilMs });
    return true;
  }

  /** A reload of the settings may add chains. */
  #addChains(progress: readonly ChainProgress[]): void {
    for (const { chainID, storedAfter } of progress) {
      if (this.#chains.has(chainID)) continue;
      this.#chains.set(
        chainID,
        new ChainReading({ after: storedAfter, unsigned: [] }, progress.length, this.#isStream),
      );
    }
  }

  #addSettled(position: MessagePosition): void {
    this.#settled.set(keyOfPosition(position), position);
  }

  #progress(): readonly ChainProgress[] {
    const { sourceChainID } = this.#query;
    return this.#store.progress().filter(({ chainID }) => sourceChainID === undefined || chainID === sourceChainID);
  }

  /** The status is no filter of the store: messages that are not signed yet have to be remembered. */
  get #filters() {
    const { sender, destinationChainID } = this.#query;
    return { sender, destinationChainID };
  }
}

function isOf({ status }: { readonly status?: MessageStatus | undefined }, { outcome }: FeedMessage): boolean {
  return status === undefined || status === outcome.status;
}
