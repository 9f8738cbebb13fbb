import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CapacityLimit, type WaitingPlace } from '../../../src/aggregator/capacity-limit.ts';
import { FairSeats, type Seat } from '../../../src/aggregator/fair-seats.ts';

const PLACES: readonly WaitingPlace[] = ['event_loop', 'answers', 'bls_add', 'bls_aggregate'];

/** Measures the same wait every 20 ms. */
function observeFor(limit: CapacityLimit, place: WaitingPlace, waitMs: number, fromMs: number, forMs: number): number {
  for (let atMs = fromMs; atMs < fromMs + forMs; atMs += 20) limit.observe(place, waitMs, atMs, limit.limit);
  return fromMs + forMs;
}

describe('the limit', () => {
  test('is the ceiling until something is known, and stays within its bounds whatever is measured', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.array(
          fc.record({
            place: fc.constantFrom(...PLACES),
            waitMs: fc.integer({ min: -5, max: 5_000 }),
            afterMs: fc.integer({ min: 0, max: 500 }),
            underWay: fc.integer({ min: 0, max: 300 }),
          }),
          { maxLength: 200 },
        ),
        (ceiling, events) => {
          const floor = Math.min(8, ceiling);
          const limit = new CapacityLimit({ floor, ceiling });
          expect(limit.limit).toBe(ceiling);
          let nowMs = 0;
          for (const { place, waitMs, afterMs, underWay } of events) {
            nowMs += afterMs;
            limit.observe(place, waitMs, nowMs, underWay);
            expect(Number.isInteger(limit.limit)).toBe(true);
            expect(limit.limit).toBeGreaterThanOrEqual(floor);
            expect(limit.limit).toBeLessThanOrEqual(ceiling);
          }
        },
      ),
    );
  });

  test.each<[WaitingPlace, number, number]>([
    ['event_loop', 25, 26],
    ['answers', 30, 31],
    ['bls_add', 100, 101],
    ['bls_aggregate', 100, 101],
  ])('falls where work stands in line for long: %s', (place, shortMs, longMs) => {
    const limit = new CapacityLimit({ floor: 8, ceiling: 256 });
    const nowMs = observeFor(limit, place, shortMs, 0, 5_000);
    expect(limit.limit).toBe(256);
    observeFor(limit, place, longMs, nowMs, 5_000);
    expect(limit.limit).toBe(8);
  });

  test('does not fall for a burst or one long pause: the shortest wait of two windows counts', () => {
    const limit = new CapacityLimit({ floor: 8, ceiling: 256 });
    let nowMs = observeFor(limit, 'event_loop', 1, 0, 1_000);
    limit.observe('event_loop', 700, nowMs + 700, 200);
    nowMs = observeFor(limit, 'event_loop', 1, nowMs + 720, 300);
    for (let round = 0; round < 100; round += 1, nowMs += 20) {
      limit.observe('event_loop', round % 4 === 0 ? 2 : 400, nowMs, 200);
    }
    expect(limit.limit).toBe(256);
  });

  test('falls for one long wait for a thread, which a pause cannot explain', () => {
    for (const place of ['bls_add', 'bls_aggregate'] as const) {
      const limit = new CapacityLimit({ floor: 8, ceiling: 256 });
      for (let round = 1; round <= 3; round += 1) limit.observe(place, 1_000, 5_000 * round, limit.limit);
      expect(limit.limit).toBe(8);
    }
  });

  test('does not fall again before what was let in has left, unless that takes too long', () => {
    const limit = new CapacityLimit({ floor: 8, ceiling: 256 });
    const limits: [number, number][] = [];
    for (let atMs = 0; atMs < 3_000; atMs += 20) {
      limit.observe('event_loop', 30, atMs, 100);
      if (limits.at(-1)?.[1] !== limit.limit) limits.push([atMs, limit.limit]);
    }
    expect(limits).toEqual([
      [0, 256],
      [200, 70],
      [2_200, 49],
    ]);
  });

  test('is counted from what is under way, and what was let in has time to leave', () => {
    const limit = new CapacityLimit({ floor: 8, ceiling: 256 });
    const limits = new Set<number>();
    for (let atMs = 0; atMs < 400; atMs += 20) {
      limit.observe('event_loop', 200, atMs, 100);
      limits.add(limit.limit);
    }
    expect([...limits]).toEqual([256, 25]);
  });

  test('grows beyond its start only as far as it is used', () => {
    const limit = new CapacityLimit({ floor: 4, ceiling: 256, start: 8 });
    expect(limit.limit).toBe(8);
    let nowMs = 0;
    const observe = (underWay: number) => {
      for (const untilMs = nowMs + 20_000; nowMs < untilMs; nowMs += 20)
        limit.observe('event_loop', 0, nowMs, underWay);
    };
    observe(1);
    expect(limit.limit).toBe(8);
    observe(20);
    expect(limit.limit).toBe(60);
    // What was used before is not taken away for a rest.
    observe(1);
    expect(limit.limit).toBe(60);
    observe(256);
    expect(limit.limit).toBe(256);
  });

  test('grows to its ceiling for one client alone, though that has no more than half of it at work', () => {
    const limit = new CapacityLimit({ floor: 2, ceiling: 256, start: 2 });
    for (let nowMs = 0; nowMs < 30_000; nowMs += 20)
      limit.observe('event_loop', 0, nowMs, Math.floor((limit.limit + 1) / 2));
    expect(limit.limit).toBe(256);
  });

  test('comes back from the floor to the ceiling within seconds', () => {
    const limit = new CapacityLimit({ floor: 8, ceiling: 256 });
    const nowMs = observeFor(limit, 'event_loop', 500, 0, 5_000);
    expect(limit.limit).toBe(8);
    observeFor(limit, 'event_loop', 0, nowMs, 10_000);
    expect(limit.limit).toBe(256);
  });

  test('takes nothing from before a rest for the wait after it', () => {
    const limit = new CapacityLimit({ floor: 8, ceiling: 256 });
    for (let atMs = 0; atMs <= 80; atMs += 20) limit.observe('event_loop', 200, atMs, 100);
    for (let atMs = 60_000; atMs <= 60_100; atMs += 20) limit.observe('event_loop', 90, atMs, 100);
    expect(limit.limit).toBe(256);
  });
});

interface Load {
  /** Requests a second that the flood sends; each costs {@link FLOOD_CPU_MS}. */
  readonly floodPerSecond: (atMs: number) => number;
  readonly isAdaptive: boolean;
}

/** Of one request of the flood, and of a good one. */
const FLOOD_CPU_MS = 8;
const GOOD_CPU_MS = 4;
/** Validators take so long to answer in the middle of the work. */
const NETWORK_MS = 40;

/**
 * A machine with one thread, in steps of a millisecond. The work of a request is cut into pieces that stand in one line, as callbacks
 * of an event loop do: half of it, the validators' answers, the other half. Good requests come every 100 ms, from another client.
 */
function simulate({ floodPerSecond, isAdaptive }: Load, forMs: number) {
  const limit = new CapacityLimit({ floor: 8, ceiling: 256 });
  const seats = new FairSeats();
  const line: { leftMs: number; readonly done: () => void }[] = [];
  const later: { readonly atMs: number; readonly run: () => void }[] = [];
  const good: { readonly startMs: number; readonly latencyMs: number | undefined }[] = [];
  let [atMs, owed, finished, mostUnderWay] = [0, 0, 0, 0];

  function start(client: string, cpuMs: number, onEnd: () => void): boolean {
    const now = isAdaptive ? limit.limit : 256;
    const seat = seats.take(now, 256, { client, subnet: client });
    if (typeof seat === 'string') return false;
    mostUnderWay = Math.max(mostUnderWay, seats.taken);
    const piece = (then: () => void) => line.push({ leftMs: cpuMs / 2, done: then });
    piece(() => later.push({ atMs: atMs + NETWORK_MS, run: () => piece(() => end(seat)) }));
    const end = (own: Seat) => {
      seats.release(own);
      finished += 1;
      onEnd();
    };
    return true;
  }

  let probeDueMs = 20;
  for (; atMs < forMs; atMs += 1) {
    owed += floodPerSecond(atMs) / 1_000;
    for (; owed >= 1; owed -= 1) start('flood', FLOOD_CPU_MS, () => undefined);
    if (atMs % 100 === 0) {
      const startMs = atMs;
      const isIn = start('good', GOOD_CPU_MS, () => good.push({ startMs, latencyMs: atMs - startMs }));
      if (!isIn) good.push({ startMs, latencyMs: undefined });
    }
    for (const due of later.filter((event) => event.atMs <= atMs)) {
      later.splice(later.indexOf(due), 1);
      due.run();
    }
    if (atMs === probeDueMs) {
      const dueMs = atMs;
      line.push({
        leftMs: 0,
        done: () => {
          limit.observe('event_loop', atMs - dueMs, atMs, seats.taken);
          probeDueMs = Math.max(atMs, dueMs) + 20;
        },
      });
    }
    for (let leftMs = 1; line[0] !== undefined; ) {
      const usedMs = Math.min(leftMs, line[0].leftMs);
      line[0].leftMs -= usedMs;
      leftMs -= usedMs;
      if (line[0].leftMs > 0) break;
      line.shift()?.done();
    }
  }
  const between = (fromMs: number, toMs: number) =>
    good.filter(({ startMs }) => startMs >= fromMs && startMs < toMs).map(({ latencyMs }) => latencyMs);
  return { between, finished, mostUnderWay, limit: limit.limit };
}

/** At 95 %, refused ones being the slowest. */
function p95(latencies: readonly (number | undefined)[]): number {
  const sorted = latencies.map((ms) => ms ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b);
  return sorted[Math.floor(0.95 * sorted.length)] ?? Number.POSITIVE_INFINITY;
}

describe('a machine under a flood of ten times what it can do', () => {
  const CAPACITY_PER_SECOND = 1_000 / FLOOD_CPU_MS;
  const quiet = p95(simulate({ floodPerSecond: () => 0, isAdaptive: true }, 10_000).between(0, 9_000));
  const floodPerSecond = (atMs: number) => (atMs >= 5_000 && atMs < 25_000 ? 10 * CAPACITY_PER_SECOND : 0);
  const adaptive = simulate({ floodPerSecond, isAdaptive: true }, 40_000);

  test('answers good requests of others in at most five times the usual time, and all of them', () => {
    expect(quiet).toBe(42);
    expect(adaptive.between(8_000, 25_000)).not.toContain(undefined);
    expect(p95(adaptive.between(8_000, 25_000))).toBeLessThanOrEqual(5 * quiet);
  });

  test('goes on working at its capacity meanwhile', () => {
    expect(adaptive.finished).toBeGreaterThan(0.9 * 20 * CAPACITY_PER_SECOND);
  });

  test('is as quick as before, and lets in as many, soon after it', () => {
    expect(p95(adaptive.between(27_000, 39_000))).toBe(quiet);
    expect(adaptive.limit).toBe(256);
  });

  test('would not with a constant of 256: what is let in is what makes it slow', () => {
    const constant = simulate({ floodPerSecond, isAdaptive: false }, 40_000);
    expect(p95(constant.between(8_000, 25_000))).toBeGreaterThan(1_000);
  });
});
