import type { Clock } from '../../lib/concurrency/clock.ts';

/** Consecutive failed connections after which the host counts as down. */
export const MAX_FAILURES = 10;
/** About as long as a restart takes. */
export const OPEN_MS = 5_000;

/**
 * Circuit breaker for a host. Only failed connections count: clients choose the requests, and could provoke timeouts with a chain that does
 * not work. Once open, it admits one trial after each {@link OPEN_MS}.
 */
export function createCircuitBreaker(clock: Clock, onChange: (isOpen: boolean) => void) {
  let failures = 0;
  /** Monotonic time of the next trial; undefined if the circuit is closed. */
  let trialAtMs: number | undefined;

  return {
    isOpen: (): boolean => trialAtMs !== undefined,
    /** Returns 0 if the request may be sent, else the milliseconds until a retry. */
    admit(): number {
      if (trialAtMs === undefined) return 0;
      const nowMs = clock.monotonicMs();
      if (nowMs < trialAtMs) return trialAtMs - nowMs;
      trialAtMs = nowMs + OPEN_MS;
      return 0;
    },
    /** The host accepted a connection. */
    connected(): void {
      failures = 0;
      if (trialAtMs === undefined) return;
      trialAtMs = undefined;
      onChange(false);
    },
    notConnected(): void {
      failures += 1;
      if (trialAtMs === undefined && failures < MAX_FAILURES) return;
      const wasOpen = trialAtMs !== undefined;
      trialAtMs = clock.monotonicMs() + OPEN_MS;
      if (!wasOpen) onChange(true);
    },
  };
}
