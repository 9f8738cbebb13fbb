import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairSeats, FIRST_SEATS, type Seat, type SeatRefusal } from '../../../src/aggregator/fair-seats.ts';

/** Takes seats until one is refused. */
function takeAll(seats: FairSeats, limit: number, client: string, subnet: string | undefined) {
  const taken: Seat[] = [];
  for (;;) {
    const seat = seats.take(limit, limit, { client, subnet });
    if (typeof seat === 'string') return { taken, refusal: seat };
    taken.push(seat);
  }
}

describe('shares', () => {
  test('one client that takes all it can get leaves a third, and the next one a fifth', () => {
    const seats = new FairSeats();
    expect(takeAll(seats, 255, 'first', 'a')).toMatchObject({ taken: { length: 170 }, refusal: 'client' });
    expect(takeAll(seats, 255, 'second', 'b').taken.length).toBe(57);
    expect(typeof seats.take(255, 255, { client: 'third', subnet: 'c' })).toBe('object');
  });

  test('clients that take turns come to have the same', () => {
    const seats = new FairSeats();
    const counts = new Map(['first', 'second'].map((client) => [client, 0]));
    for (let round = 0; round < 200; round += 1) {
      for (const [client, count] of counts) {
        if (typeof seats.take(255, 255, { client, subnet: client }) !== 'string') counts.set(client, count + 1);
      }
    }
    expect([...counts.values()]).toEqual([102, 102]);
  });

  test('one subnet leaves a fifth, whoever asks; nobody in particular has no share', () => {
    const seats = new FairSeats();
    let taken = 0;
    while (typeof seats.take(255, 255, { client: undefined, subnet: 'flooded' }) !== 'string') taken += 1;
    expect(taken).toBe(204);
    expect(seats.take(255, 255, { client: undefined, subnet: 'flooded' })).toBe('subnet');
    expect(typeof seats.take(255, 255, { client: 'new', subnet: 'other' })).toBe('object');
  });

  test('one client that floods a subnet does not shut others out of it', () => {
    for (const limit of [8, 30, 256]) {
      const seats = new FairSeats();
      expect(takeAll(seats, limit, 'flood', 'a').refusal).toBe('client');
      expect(typeof seats.take(limit, limit, { client: 'good', subnet: 'a' })).toBe('object');
    }
  });

  test('who asks for little finds room where the limit has just fallen, and one who has much does not', () => {
    const seats = new FairSeats();
    takeAll(seats, 120, 'flood', 'a');
    expect(seats.taken).toBe(80);
    expect(seats.take(20, 256, { client: 'flood', subnet: 'b' })).toBe('full');
    for (let index = 0; index < FIRST_SEATS; index += 1) {
      expect(typeof seats.take(20, 256, { client: 'good', subnet: 'a' })).toBe('object');
    }
    expect(seats.take(20, 256, { client: 'good', subnet: 'a' })).toBe('full');
    expect(seats.take(20, 80 + FIRST_SEATS, { client: 'other', subnet: 'a' })).toBe('full');
    expect(seats.take(20, 256, { client: undefined, subnet: 'b' })).toBe('full');
  });

  test('what has to be looked up first gets half of all', () => {
    const seats = new FairSeats();
    let taken = 0;
    while (typeof seats.take(256, 256, { client: `client ${taken}`, subnet: undefined }) !== 'string') taken += 1;
    expect(taken).toBe(128);
    expect(seats.take(256, 256, { client: 'new', subnet: undefined })).toBe('unresolved');
    expect(typeof seats.take(256, 256, { client: 'new', subnet: 'known' })).toBe('object');
  });

  test('a seat counts for the subnet that was found, and is refused where that has its share', () => {
    const seats = new FairSeats();
    const unresolved = seats.take(12, 12, { client: undefined, subnet: undefined }) as Seat;
    const other = seats.take(12, 12, { client: undefined, subnet: undefined }) as Seat;
    expect(seats.move(12, 12, unresolved, 'found')).toBeUndefined();
    expect(seats.move(12, 12, unresolved, 'found')).toBeUndefined();
    while (typeof seats.take(12, 12, { client: undefined, subnet: 'found' }) !== 'string');
    expect(seats.move(4, 12, other, 'found')).toBe('subnet');
    expect(seats.move(12, 12, other, 'elsewhere')).toBeUndefined();
  });

  test('a limit of 1 or 2 can be used to the full by anybody', () => {
    for (const limit of [1, 2]) expect(takeAll(new FairSeats(), limit, 'only', undefined).taken.length).toBe(limit);
  });
});

type Step =
  | { readonly kind: 'take'; readonly client: number; readonly subnet: number | undefined; readonly limit: number }
  | { readonly kind: 'release' | 'move'; readonly pick: number; readonly subnet: number; readonly limit: number };

const MOST = 40;
const limit = fc.integer({ min: 0, max: MOST });
const subnet = fc.integer({ min: 0, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      client: fc.integer({ min: 0, max: 5 }),
      subnet: fc.option(subnet, { nil: undefined }),
      limit,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'move' as const), pick: fc.nat(), subnet, limit }),
  },
);

describe('in any order of events', () => {
  test('no more are let in than the limit, nobody new is refused while one is free, and all is given back', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const seats = new FairSeats();
        const taken: Seat[] = [];
        for (const event of steps) {
          const before = taken.length;
          if (event.kind === 'take') {
            const shares = {
              client: `c${event.client}`,
              subnet: event.subnet === undefined ? undefined : `s${event.subnet}`,
            };
            const outcome: Seat | SeatRefusal = seats.take(event.limit, MOST, shares);
            if (typeof outcome === 'string') {
              const hasNothing = taken.every((seat) => seat.client !== shares.client && seat.subnet !== shares.subnet);
              const isCrowd = taken.filter(({ isFirst }) => isFirst).length >= event.limit;
              expect(hasNothing && !isCrowd && before < MOST).toBe(false);
              if (outcome === 'full') expect(before).toBeGreaterThanOrEqual(Math.min(event.limit, MOST));
            } else {
              expect(before).toBeLessThan(MOST);
              if (outcome.isFirst)
                expect(taken.filter((seat) => seat.client === shares.client).length).toBeLessThan(FIRST_SEATS);
              const ofLane = outcome.isFirst ? taken.filter(({ isFirst }) => isFirst).length : before;
              expect(ofLane).toBeLessThan(event.limit);
              taken.push(outcome);
            }
          } else if (before > 0) {
            const seat = taken[event.pick % before] as Seat;
            if (event.kind === 'move') seats.move(event.limit, MOST, seat, `s${event.subnet}`);
            else {
              seats.release(seat);
              taken.splice(taken.indexOf(seat), 1);
              expect(() => seats.release(seat)).toThrow('this seat was released before');
            }
          }
          expect(seats.taken).toBe(taken.length);
        }
        for (const seat of taken) seats.release(seat);
        // Nothing is left over: everybody's share is whole again.
        expect(takeAll(seats, 30, 'c0', 's0').taken.length).toBe(20);
      }),
      { numRuns: 300 },
    );
  });
});
