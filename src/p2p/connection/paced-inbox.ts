import type { Clock } from '../../lib/concurrency/clock.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { FrameDecoder } from '../wire/frames.ts';
import { MAX_PEER_MS_PER_TICK, type UnrequestedTime } from './unrequested-time.ts';

/** A fifth of the tick, so that no peer starves the others. */
const MAX_BUSY_MS_PER_TICK = 50;
/**
 * Longer times are pauses of this process: the most expensive message, a PeerList of 64 new addresses, takes 20 ms, and up to 100 ms
 * before the code is compiled.
 */
const MAX_BUSY_MS_PER_MESSAGE = 4 * MAX_BUSY_MS_PER_TICK;
/** Consecutive ticks, 3 s, for which a peer is held because of messages that we did not request. */
const MAX_HELD_TICKS = 12;

export interface PacedInboxOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Shared by all peers. */
  readonly scheduler: EventLoopScheduler;
  /** Peer, for fair scheduling. */
  readonly key: string;
  /** Shared by all peers. */
  readonly unrequested: UnrequestedTime;
  /**
   * @param nowMs monotonic
   * @returns whether we requested the message
   */
  readonly handle: (payload: Uint8Array, nowMs: number) => boolean;
  /** Called if the peer went on for seconds with more messages that we did not request than it may send. */
  readonly onFlood: () => void;
  /** Called if the bytes are not frames, after earlier messages were handled. */
  readonly onBroken: (error: ParseError) => void;
  readonly source: { pause(): void; resume(): void };
}

/**
 * Splits the bytes of one peer into messages and handles them within the peer's share of time, when the scheduler permits. Messages that we
 * did not request also have a share of the time for those of all peers. While messages wait, the source is paused as soon as more bytes
 * arrive.
 *
 * Bound: the bytes that the source delivers before it stops, and one incomplete frame.
 */
export class PacedInbox {
  readonly #options: PacedInboxOptions;
  readonly #decoder = new FrameDecoder();
  #payload: Uint8Array | undefined;
  #busyMs = 0;
  #unrequestedMs = 0;
  #heldTicks = 0;
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
    this.#heldTicks = this.#isOverShare && this.#unrequestedMs > 0 ? this.#heldTicks + 1 : 0;
    this.#unrequestedMs = Math.max(0, this.#unrequestedMs - MAX_PEER_MS_PER_TICK);
    if (this.#heldTicks >= MAX_HELD_TICKS) return this.#options.onFlood();
    if (!this.#isOverShare || this.#hasUsedShare()) return;
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
    if (this.#hasUsedShare()) {
      this.#isOverShare = true;
      this.#updateSource(true);
      return false;
    }
    this.#payload ??= this.#cut();
    return this.#payload !== undefined;
  }

  #hasUsedShare(): boolean {
    return this.#busyMs > MAX_BUSY_MS_PER_TICK || this.#options.unrequested.isUsedUp(this.#unrequestedMs);
  }

  #handleNext(): void {
    const { clock, handle, unrequested } = this.#options;
    const payload = this.#payload;
    this.#payload = undefined;
    if (payload === undefined) return;
    const startMs = clock.monotonicMs();
    const isRequested = handle(payload, startMs);
    const tookMs = Math.min(MAX_BUSY_MS_PER_MESSAGE, clock.monotonicMs() - startMs);
    this.#busyMs += tookMs;
    if (isRequested) return;
    this.#unrequestedMs += tookMs;
    unrequested.add(tookMs);
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
