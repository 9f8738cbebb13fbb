import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';

/** Time that stands still until it is moved; timers are real. */
export function movableClock(): Clock & { move(ms: number): void } {
  let movedMs = 0;
  return {
    ...systemClock,
    monotonicMs: () => movedMs,
    move: (ms) => {
      movedMs += ms;
    },
  };
}
