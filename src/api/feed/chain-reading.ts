import { type BlockPosition, comparePositions, type FeedMessage, LAST_LOG_INDEX } from '../../feed/feed-message.ts';
import { type ChainCursor, listedPerChain, type UnlistedRange, type UnsignedPosition } from './cursor.ts';

/** What a reader has received of one chain. It changes as a cursor does, see {@link ChainCursor}. */
export class ChainReading {
  readonly #maxListed: number;
  #after: BlockPosition;
  #unsigned: UnsignedPosition[];
  #unlisted: UnlistedRange | undefined;

  /**
   * @param chains of the query
   * @param readsAllAgain whether an unlisted range is read from its start, and not on from where the last reader ended: that one may have passed
   *   messages that were signed since
   */
  constructor({ after, unsigned, unlisted }: ChainCursor, chains: number, readsAllAgain: boolean) {
    this.#maxListed = listedPerChain(chains);
    this.#after = after;
    this.#unsigned = [...unsigned];
    this.#unlisted = unlisted && (readsAllAgain || isRead(unlisted)) ? { ...unlisted, read: unlisted.start } : unlisted;
    while (this.#unsigned.length > this.#maxListed) this.#unlistFirst();
  }

  get after(): BlockPosition {
    return this.#after;
  }

  get unsigned(): readonly UnsignedPosition[] {
    return this.#unsigned;
  }

  get unlisted(): UnlistedRange | undefined {
    return this.#unlisted;
  }

  get cursor(): ChainCursor {
    const cursor = { after: this.#after, unsigned: [...this.#unsigned] };
    return this.#unlisted === undefined ? cursor : { ...cursor, unlisted: this.#unlisted };
  }

  /** Delivers the next message. */
  advance({ blockNumber, logIndex, outcome }: FeedMessage): void {
    this.#after = { blockNumber, logIndex };
    if (outcome.status === 'signed') return;
    this.#unsigned.push({ blockNumber, logIndex, isFailed: outcome.status === 'failed' });
    if (this.#unsigned.length > this.#maxListed) this.#unlistFirst();
  }

  /** There are no messages of the query up to this position. */
  skipTo(position: BlockPosition): void {
    if (comparePositions(position, this.#after) > 0) this.#after = position;
  }

  /** Updates the status of a delivered message. @returns whether it is to be delivered again */
  settle(message: FeedMessage): boolean {
    const { status } = message.outcome;
    if (comparePositions(message, this.#after) > 0 || status === 'pending') return false;
    const index = this.#unsigned.findIndex((position) => comparePositions(position, message) === 0);
    const listed = this.#unsigned[index];
    // Another replica may have delivered it signed, while it is still pending here.
    if (listed === undefined && !this.#wasReadAgain(message)) return false;
    if (status === 'signed') {
      if (listed !== undefined) this.#unsigned.splice(index, 1);
      return true;
    }
    if (listed?.isFailed === true) return false;
    if (listed !== undefined) this.#unsigned[index] = { ...listed, isFailed: true };
    return true;
  }

  /** Reads the next message of the unlisted range again. */
  readAgain({ blockNumber, logIndex, outcome }: FeedMessage): void {
    if (this.#unlisted === undefined) return;
    const { start, read, end } = this.#unlisted;
    const position = { blockNumber, logIndex };
    // The range becomes shorter if it begins with signed messages.
    const isShorter = outcome.status === 'signed' && comparePositions(start, read) === 0;
    this.#unlisted = { start: isShorter ? position : start, read: position, end };
  }

  /** The rest of the unlisted range has no messages. */
  endReadingAgain(): void {
    if (this.#unlisted === undefined) return;
    const { start, read, end } = this.#unlisted;
    this.#unlisted = comparePositions(start, read) === 0 ? undefined : { start, read: end, end };
  }

  /** Forgets messages up to a position. */
  forgetUpTo(position: BlockPosition): void {
    this.#unsigned = this.#unsigned.filter((unsigned) => comparePositions(unsigned, position) > 0);
    if (this.#unlisted !== undefined && comparePositions(this.#unlisted.end, position) <= 0) this.#unlisted = undefined;
  }

  /** Whether the reading of the unlisted range has passed a position: it delivers the others when it reaches them. */
  #wasReadAgain(position: BlockPosition): boolean {
    const range = this.#unlisted;
    return (
      range !== undefined && comparePositions(position, range.start) > 0 && comparePositions(position, range.read) <= 0
    );
  }

  #unlistFirst(): void {
    const [first] = this.#unsigned.splice(0, 1);
    if (first === undefined) return;
    const end = { blockNumber: first.blockNumber, logIndex: first.logIndex };
    const { start, read } = this.#unlisted ?? { start: before(end), read: end };
    const hasBeenRead = this.#unlisted === undefined || isRead(this.#unlisted);
    this.#unlisted = { start, read: hasBeenRead ? end : read, end };
  }
}

function isRead({ read, end }: UnlistedRange): boolean {
  return comparePositions(read, end) >= 0;
}

/** Returns the position right before another one. */
function before({ blockNumber, logIndex }: BlockPosition): BlockPosition {
  return logIndex === 0
    ? { blockNumber: blockNumber - 1, logIndex: LAST_LOG_INDEX }
    : { blockNumber, logIndex: logIndex - 1 };
}
