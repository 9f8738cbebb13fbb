import { LRUCache } from 'lru-cache';
import { bytesOf, type ChainProgress, type FeedMessage } from './feed-message.ts';

/** Bytes of messages that are kept. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Of a message besides its bytes. */
const RECORD_BYTES = 512;

type Messages = readonly FeedMessage[];

/** Results of reads since the last write. A write wakes all streams, and most of them have the same cursor: they share one read. */
export class RecentReads {
  readonly #messages = new LRUCache<string, Messages>({
    maxSize: MAX_BYTES,
    sizeCalculation: (messages, key) =>
      key.length + messages.reduce((sum, message) => sum + RECORD_BYTES + bytesOf(message), 1),
  });
  #progress: readonly ChainProgress[] | undefined;

  progress(read: () => readonly ChainProgress[]): readonly ChainProgress[] {
    this.#progress ??= read();
    return this.#progress;
  }

  /** @param key equal for equal reads */
  messages(key: string, read: () => Messages): Messages {
    const known = this.#messages.get(key);
    if (known !== undefined) return known;
    const messages = read();
    this.#messages.set(key, messages);
    return messages;
  }

  /** Called after each write. */
  forget(): void {
    this.#progress = undefined;
    this.#messages.clear();
  }
}
