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

export type VersionWatch = ReturnType<typeof createVersionWatch>;

/**
 * Software version for our Handshakes: nodes refuse one that is too old or of another major version. It follows the API node's, so that
 * an upgrade of the network needs no restart. The last version is used until a newer one arrives.
 */
export function createVersionWatch({ clock, logger, request, onAnswer }: VersionWatchOptions) {
  const closing = new AbortController();
  let answer: { readonly version: NodeVersion; readonly atMs: number } | undefined;
  let failure: string | undefined;
  let isExpired = false;
  let isRequesting = false;
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  async function fetchVersion(): Promise<void> {
    isRequesting = true;
    using deadline = startDeadline(clock, TIMEOUT_MS, 'asking for the node version', closing.signal);
    try {
      const version = await request(deadline.signal);
      if (closing.signal.aborted) return;
      answer = { version, atMs: clock.monotonicMs() };
      failure = undefined;
      isExpired = false;
      onAnswer();
    } catch (error) {
      if (closing.signal.aborted) return;
      failure = error instanceof Error ? error.message : String(error);
      logger.warn({ err: error }, 'cannot ask for the node version');
    } finally {
      isRequesting = false;
      notBeforeMs = clock.monotonicMs() + PAUSE_MS;
    }
  }

  return {
    /** Undefined until the first response. */
    get current(): NodeVersion | undefined {
      return answer?.version;
    },
    /** Reason why the last request failed; undefined after a success. */
    get failure(): string | undefined {
      return failure;
    },
    /** Called when a peer refused our Handshake: the version may have changed. */
    expire(): void {
      isExpired = true;
    },
    /** Requests the version if it is unknown, expired or a minute old. Call it a few times a second. */
    tick(nowMs: number): void {
      const isCurrent = answer !== undefined && !isExpired && nowMs - answer.atMs < MAX_AGE_MS;
      if (isCurrent || isRequesting || nowMs < notBeforeMs || closing.signal.aborted) return;
      void fetchVersion();
    },
    close: (): void => closing.abort(new Error('the peer network is closed')),
  };
}
