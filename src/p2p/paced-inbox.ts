import type { Clock } from '../primitives/clock.ts';
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
  /** Stops and restarts the source of the bytes. */
  readonly source: { pause(): void; resume(): void };
}

/**
 * The messages of one peer from the bytes on: cut into payloads, and handled within the peer's share of our time. Once that
 * is used up, the source is paused until {@link tick}. Where other peers have used up what may be handled in this turn of the event
 * loop, they are handled in a later one, and the source is paused if more comes before.
 *
 * Bound: the payloads of what the source hands over before it stops, and one unfinished frame.
 */
export class PacedInbox {
  readonly #options: PacedInboxOptions;
  readonly #decoder = new FrameDecoder();
  #payloads: Uint8Array[] = [];
  /** Index of the first payload that is not handled yet. */
  #next = 0;
  #busyMs = 0;
  #isPaused = false;
  /** For a later turn of the event loop. */
  #isWaiting = false;
  /** The source is paused as more came while what was there before waited for its turn. */
  #isHeld = false;

  constructor(options: PacedInboxOptions) {
    this.#options = options;
  }

  /** @throws {ParseError} where the bytes are no frames; the stream cannot be read on from there */
  push(chunk: Uint8Array): void {
    const payloads = this.#decoder.push(chunk);
    // A chunk that was read before the pause may still come while earlier payloads wait.
    this.#payloads = this.#next < this.#payloads.length ? [...this.#payloads.slice(this.#next), ...payloads] : payloads;
    this.#next = 0;
    if (this.#isWaiting) this.#hold();
    else this.#handleAll();
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
    this.#payloads = [];
    this.#next = 0;
  }

  #handleAll(): void {
    const { turns } = this.#options;
    if (this.#handleNow(() => turns.take())) return;
    this.#isWaiting = true;
    turns.wait(() => {
      const isDone = this.#handleNow(() => turns.take());
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
      const payload = this.#payloads[this.#next];
      if (payload === undefined) {
        this.clear();
        return true;
      }
      if (!mayHandle()) return false;
      this.#next += 1;
      const startMs = clock.monotonicMs();
      handle(payload, startMs);
      this.#busyMs += Math.min(MAX_BUSY_MS_PER_MESSAGE, clock.monotonicMs() - startMs);
    }
  }
}
