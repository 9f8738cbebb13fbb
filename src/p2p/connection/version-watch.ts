import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { NodeVersion } from './handshake.ts';

/** Maximum age of a version before it is requested again. */
const MAX_AGE_MS = 60_000;
/** Minimum pause between two requests. */
const PAUSE_MS = 2_000;
const TIMEOUT_MS = 10_000;

export interface VersionWatchOptions {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly request: (signal: AbortSignal) => Promise<NodeVersion>;
  readonly onAnswer: () => void;
}

/**
 * Software version for our Handshakes: nodes refuse one that is too old or of another major version. It follows the API node's, so that
 * an upgrade of the network needs no restart. The last version is used until a newer one arrives.
 */
export class VersionWatch {
  readonly #options: VersionWatchOptions;
  readonly #closing = new AbortController();
  #answer: { readonly version: NodeVersion; readonly atMs: number } | undefined;
  #failure: string | undefined;
  #isExpired = false;
  #isRequesting = false;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(options: VersionWatchOptions) {
    this.#options = options;
  }

  /** Undefined until the first response. */
  get current(): NodeVersion | undefined {
    return this.#answer?.version;
  }

  /** Reason why the last request failed; undefined after a success. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Called when a peer refused our Handshake: the version may have changed. */
  expire(): void {
    this.#isExpired = true;
  }

  /** Requests the version if it is unknown, expired or a minute old. Call it a few times a second. */
  tick(nowMs: number): void {
    const isCurrent = this.#answer !== undefined && !this.#isExpired && nowMs - this.#answer.atMs < MAX_AGE_MS;
    if (isCurrent || this.#isRequesting || nowMs < this.#notBeforeMs || this.#closing.signal.aborted) return;
    this.#isRequesting = true;
    void this.#fetch();
  }

  close(): void {
    this.#closing.abort(new Error('the peer network is closed'));
  }

  async #fetch(): Promise<void> {
    const { request, clock, logger, onAnswer } = this.#options;
    using deadline = startDeadline(clock, TIMEOUT_MS, 'asking for the node version', this.#closing.signal);
    try {
      const version = await request(deadline.signal);
      if (this.#closing.signal.aborted) return;
      this.#answer = { version, atMs: clock.monotonicMs() };
      this.#failure = undefined;
      this.#isExpired = false;
      onAnswer();
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#failure = error instanceof Error ? error.message : String(error);
      logger.warn({ err: error }, 'cannot ask for the node version');
    } finally {
      this.#isRequesting = false;
      this.#notBeforeMs = clock.monotonicMs() + PAUSE_MS;
    }
  }
}
