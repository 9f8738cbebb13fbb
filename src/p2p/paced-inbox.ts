import type { Clock } from '../primitives/clock.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { FrameDecoder } from './frames.ts';
import type { MessageTurns } from './message-turns.ts';

/** How long a peer may keep us busy between two ticks: a fifth of the time, so that no single peer can starve the others. */
const MAX_BUSY_MS_PER_TICK = 50;
/**
 * The most that one message counts for. The dearest one, a PeerList of 64 new addresses, takes 20 ms, and up to 100 before the code is
 * compiled. Where one seems to take longer, this process stood still meanwhile: a peer that paid for seconds of that would be taken
 * for silent.
 */
const MAX_BUSY_MS_PER_MESSAGE = 4 * MAX_BUSY_MS_PER_TICK;

export interface PacedInboxOptions {
  readonly clock: Clock;
  /** Over all peers. */
  readonly turns: MessageTurns;
  /** @param nowMs monotonic */
  readonly handle: (payload: Uint8Array, nowMs: number) => void;
  /** The bytes are no frames: the stream cannot be read on. What came before was handled. */
  readonly onBroken: (error: ParseError) => void;
  /** Stops and restarts the source of the bytes. */
  readonly source: { pause(): void; resume(): void };
}

/**
 * The messages of one peer from the bytes on: cut into payloads, and handled within the peer's share of our time. Once that
 * is used up, the source is paused until {@link tick}. Where other peers have used up what may be handled in this turn of the event
 * loop, they are handled in a later one, and the source is paused if more comes before.
 *
 * Bound: the bytes that the source hands over before it stops, and one unfinished frame. What waits is not cut into payloads: 64 KB of
 * empty frames would be 3 MB of these, for each of thousands of peers.
 */
export class PacedInbox {
  readonly #options: PacedInboxOptions;
  readonly #decoder = new FrameDecoder();
  /** The next one, which waits for its turn. */
  #payload: Uint8Array | undefined;
  #busyMs = 0;
  #isPaused = false;
  /** For a later turn of the event loop. */
  #isWaiting = false;
  /** The source is paused as more came while what was there before waited for its turn. */
  #isHeld = false;

  constructor(options: PacedInboxOptions) {
    this.#options = options;
  }

  push(chunk: Uint8Array): void {
    // One that was read before the pause may still come while earlier ones wait.
    this.#decoder.add(chunk);
    if (this.#isWaiting) this.#hold();
    else this.#handleAll();
    this.#decoder.keep();
  }

  /** Gives the peer its share of the time until the next tick. */
  tick(): void {
    // A message that took longer than one share is paid off over several.
    this.#busyMs = Math.max(0, this.#busyMs - MAX_BUSY_MS_PER_TICK);
    if (this.#isPaused && this.#busyMs <= MAX_BUSY_MS_PER_TICK) {
      this.#isPaused = false;
      this.#options.source.resume();
      if (!this.#isWaiting) this.#handleAll();
    }
  }

  /** No more will come: what waits for a turn is handled now, as it came before the end. */
  finish(): void {
    if (this.#isWaiting) this.#handleNow(() => true);
  }

  /** Drops what waits. May be called while a payload is handled. */
  clear(): void {
    this.#payload = undefined;
    this.#decoder.clear();
  }

  #handleAll(): void {
    const { turns } = this.#options;
    if (this.#handleNow(() => turns.take())) return;
    this.#isWaiting = true;
    turns.wait(() => {
      // One message, then others have their turn: else each of a thousand peers with a crowd of messages would have a whole one first.
      let mayHandle = true;
      const isDone = this.#handleNow(() => {
        const may = mayHandle && turns.take();
        mayHandle = false;
        return may;
      });
      this.#isWaiting = !isDone;
      if (isDone) this.#letGo();
      return isDone;
    });
  }

  /** Else a peer that sends faster than its turns come would fill the memory. */
  #hold(): void {
    if (this.#isHeld || this.#isPaused) return;
    this.#isHeld = true;
    this.#options.source.pause();
  }

  #letGo(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    // Where its share is used up, the source stays paused until a tick.
    if (!this.#isPaused) this.#options.source.resume();
  }

  /** @returns whether nothing is left that only waits for its turn */
  #handleNow(mayHandle: () => boolean): boolean {
    const { clock, handle, source } = this.#options;
    for (;;) {
      if (this.#busyMs > MAX_BUSY_MS_PER_TICK) {
        this.#isPaused = true;
        source.pause();
        return true;
      }
      this.#payload ??= this.#cut();
      const payload = this.#payload;
      if (payload === undefined) return true;
      if (!mayHandle()) return false;
      this.#payload = undefined;
      const startMs = clock.monotonicMs();
      handle(payload, startMs);
      this.#busyMs += Math.min(MAX_BUSY_MS_PER_MESSAGE, clock.monotonicMs() - startMs);
    }
  }

  #cut(): Uint8Array | undefined {
    try {
      return this.#decoder.next();
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.clear();
      this.#options.onBroken(error);
      return undefined;
    }
  }
}
