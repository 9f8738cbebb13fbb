import type { Clock } from '../../lib/concurrency/clock.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { FrameDecoder } from '../wire/frames.ts';

/** A fifth of the tick, so that no peer starves the others. */
const MAX_BUSY_MS_PER_TICK = 50;
/**
 * Longer times are pauses of this process: the most expensive message, a PeerList of 64 new addresses, takes 20 ms, and up to 100 ms
 * before the code is compiled.
 */
const MAX_BUSY_MS_PER_MESSAGE = 4 * MAX_BUSY_MS_PER_TICK;

export interface PacedInboxOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Shared by all peers. */
  readonly scheduler: EventLoopScheduler;
  /** Peer, for fair scheduling. */
  readonly key: string;
  /** @param nowMs monotonic */
  readonly handle: (payload: Uint8Array, nowMs: number) => void;
  /** Called if the bytes are not frames, after earlier messages were handled. */
  readonly onBroken: (error: ParseError) => void;
  readonly source: { pause(): void; resume(): void };
}

/**
 * Splits the bytes of one peer into messages and handles them within the peer's share of time, when the scheduler permits. While messages
 * wait, the source is paused as soon as more bytes arrive.
 *
 * Bound: the bytes that the source delivers before it stops, and one incomplete frame.
 */
export class PacedInbox {
  readonly #options: PacedInboxOptions;
  readonly #decoder = new FrameDecoder();
  #payload: Uint8Array | undefined;
  #busyMs = 0;
  #isScheduled = false;
  #isOverShare = false;
  #isSourcePaused = false;

  constructor(options: PacedInboxOptions) {
    this.#options = options;
  }

  push(chunk: Uint8Array): void {
    // A chunk that was read before the pause may still arrive.
    this.#decoder.add(chunk);
    if (this.#isScheduled) this.#updateSource(true);
    else this.#handleSome();
  }

  /** Grants the peer its time until the next tick. */
  tick(): void {
    // A message that took longer than one share uses up several.
    this.#busyMs = Math.max(0, this.#busyMs - MAX_BUSY_MS_PER_TICK);
    if (!this.#isOverShare || this.#busyMs > MAX_BUSY_MS_PER_TICK) return;
    this.#isOverShare = false;
    this.#updateSource(false);
    if (!this.#isScheduled) this.#handleSome();
  }

  /** Handles all waiting messages now. */
  drain(): void {
    while (this.#isScheduled && this.#hasNext()) this.#handleNext();
  }

  /** Drops waiting messages. May be called while one is handled. */
  clear(): void {
    this.#payload = undefined;
    this.#decoder.clear();
  }

  #handleSome(): void {
    const { scheduler } = this.#options;
    while (this.#hasNext()) {
      if (!scheduler.tryStart()) return this.#schedule();
      this.#handleNext();
    }
  }

  /** Handles one message when the scheduler permits, then the next one after the other peers. */
  #schedule(): void {
    this.#isScheduled = true;
    this.#options.scheduler.runLater(this.#options.key, () => {
      if (this.#hasNext()) this.#handleNext();
      this.#isScheduled = false;
      if (this.#hasNext()) this.#schedule();
      else this.#updateSource(false);
    });
  }

  #hasNext(): boolean {
    if (this.#busyMs > MAX_BUSY_MS_PER_TICK) {
      this.#isOverShare = true;
      this.#updateSource(true);
      return false;
    }
    this.#payload ??= this.#cut();
    return this.#payload !== undefined;
  }

  #handleNext(): void {
    const { clock, handle } = this.#options;
    const payload = this.#payload;
    this.#payload = undefined;
    if (payload === undefined) return;
    const startMs = clock.monotonicMs();
    handle(payload, startMs);
    this.#busyMs += Math.min(MAX_BUSY_MS_PER_MESSAGE, clock.monotonicMs() - startMs);
  }

  #updateSource(isPaused: boolean): void {
    const { source } = this.#options;
    if (isPaused === this.#isSourcePaused || (!isPaused && this.#isOverShare)) return;
    this.#isSourcePaused = isPaused;
    if (isPaused) source.pause();
    else source.resume();
  }

  #cut(): Uint8Array | undefined {
    const payload = attempt(() => this.#decoder.next());
    if (!(payload instanceof ParseError)) return payload;
    this.clear();
    this.#options.onBroken(payload);
    return undefined;
  }
}
