import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { PeerLogger } from '../peer-logger.ts';
import type { NodeVersion } from './handshake.ts';

/** How long an answer is taken for the present version. */
const MAX_AGE_MS = 60_000;
/** The pause between two questions, be it after a failure or after an answer that is doubted at once. */
const PAUSE_MS = 2_000;
const TIMEOUT_MS = 10_000;

export interface VersionWatchOptions {
  readonly clock: Clock;
  readonly logger: PeerLogger;
  /** Asks the API node for its version. */
  readonly ask: (signal: AbortSignal) => Promise<NodeVersion>;
  readonly onAnswer: () => void;
}

/**
 * The version that Handshakes show: nodes refuse one that is too old or of another major version. It follows the API node's, so
 * that an upgrade of the network needs no restart. An old answer is used until a newer one is there.
 */
export class VersionWatch {
  readonly #options: VersionWatchOptions;
  readonly #closing = new AbortController();
  #answer: { readonly version: NodeVersion; readonly atMs: number } | undefined;
  #failure: string | undefined;
  #isDoubted = false;
  #isAsking = false;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(options: VersionWatchOptions) {
    this.#options = options;
  }

  /** Undefined until the first answer. */
  get current(): NodeVersion | undefined {
    return this.#answer?.version;
  }

  /** Why the last question failed; undefined where it did not, or none has ended yet. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** The version may have changed: a peer refused our Handshake. */
  doubt(): void {
    this.#isDoubted = true;
  }

  /** Asks where the version is not known, or is doubted. To be called a few times a second. */
  askIfUnsure(nowMs: number): void {
    if (this.#answer === undefined || this.#isDoubted) this.#ask(nowMs);
  }

  /** Asks where the answer is a minute old, too. To be called when the version is used. */
  askIfOld(nowMs: number): void {
    if (this.#answer === undefined || this.#isDoubted || nowMs - this.#answer.atMs >= MAX_AGE_MS) this.#ask(nowMs);
  }

  close(): void {
    this.#closing.abort(new Error('the peer network is closed'));
  }

  #ask(nowMs: number): void {
    if (this.#isAsking || nowMs < this.#notBeforeMs || this.#closing.signal.aborted) return;
    this.#isAsking = true;
    void this.#fetch();
  }

  async #fetch(): Promise<void> {
    const { ask, clock, logger, onAnswer } = this.#options;
    using deadline = startDeadline(clock, TIMEOUT_MS, 'asking for the node version', this.#closing.signal);
    try {
      const version = await ask(deadline.signal);
      if (this.#closing.signal.aborted) return;
      this.#answer = { version, atMs: clock.monotonicMs() };
      this.#failure = undefined;
      this.#isDoubted = false;
      onAnswer();
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#failure = error instanceof Error ? error.message : String(error);
      logger.warn({ err: error }, 'cannot ask for the node version');
    } finally {
      this.#isAsking = false;
      this.#notBeforeMs = clock.monotonicMs() + PAUSE_MS;
    }
  }
}
