import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { NodeVersion } from './handshake.ts';

/** Maximum age of a version before it is requested again. */
const MAX_AGE_MS = 60_000;
/** Minimum pause between two requests. */
const PAUSE_MS = 2_000;
const TIMEOUT_MS = 10_000;
/**
 * Newest version that this release knows: announced while the API does not return one. Nodes accept newer versions of their major version;
 * since the Helicon upgrade of 2026-09-22 mainnet accepts none older than this.
 */
export const NEWEST_KNOWN_VERSION: NodeVersion = { major: 1, minor: 15, patch: 0 };

export interface VersionWatchOptions {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly request: (signal: AbortSignal) => Promise<NodeVersion>;
  readonly onAnswer: () => void;
}

/**
 * Software version for our Handshakes: nodes refuse one that is too old or of another major version. It follows the API node's, so that
 * an upgrade of the network needs no restart. The last version is used until a newer one arrives. Not all APIs return one.
 */
export interface VersionWatch {
  /** Undefined until the first request has ended. */
  readonly current: NodeVersion | undefined;
  /** Called when a peer refused our Handshake: the version may have changed. */
  expire(): void;
  /** Requests the version if it is unknown, expired or a minute old. Call it a few times a second. */
  tick(nowMs: number): void;
  close(): void;
}

export function createVersionWatch({ clock, logger, request, onAnswer }: VersionWatchOptions): VersionWatch {
  const closing = new AbortController();
  let current: NodeVersion | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  let isExpired = false;
  let isRequesting = false;

  async function fetchVersion(): Promise<void> {
    isRequesting = true;
    using deadline = startDeadline(clock, TIMEOUT_MS, 'asking for the node version', closing.signal);
    try {
      current = await request(deadline.signal);
      isFailing = false;
    } catch (error) {
      if (closing.signal.aborted) return;
      current ??= NEWEST_KNOWN_VERSION;
      if (!isFailing) {
        const announced = Object.values(current).join('.');
        logger.warn({ err: error, announced }, 'the info API returns no node version: announcing the newest known one');
      }
      isFailing = true;
    } finally {
      isRequesting = false;
      isExpired = false;
      askedAtMs = clock.monotonicMs();
    }
    if (!closing.signal.aborted) onAnswer();
  }

  return {
    get current() {
      return current;
    },
    expire() {
      isExpired = true;
    },
    tick(nowMs) {
      const ageMs = nowMs - askedAtMs;
      if (isRequesting || ageMs < (isExpired ? PAUSE_MS : MAX_AGE_MS) || closing.signal.aborted) return;
      void fetchVersion();
    },
    close: () => closing.abort(new Error('the peer network is closed')),
  };
}
