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

/** A quarter of the seats is kept for the operator's own subnets. */
const KEPT = 0.25;

describe("the operator's own subnets", () => {
  const stranger = (number: number) => ({ client: `client ${number}`, subnet: `stranger ${number % 50}` });
  function floodedByStrangers(limit: number, most: number) {
    const seats = new FairSeats(() => KEPT);
    const taken: Seat[] = [];
    let refusal: Seat | SeatRefusal | undefined;
    for (let number = 0; number < 4 * most; number += 1) {
      // Each client asks three times, so that both lanes are full.
      refusal = seats.take(limit, most, stranger(Math.floor(number / 3)));
      if (typeof refusal !== 'string') taken.push(refusal);
    }
    return { seats, taken, refusal };
  }

  test('a crowd of strangers leaves a quarter, all of which they get', () => {
    const { seats, taken, refusal } = floodedByStrangers(64, 64);
    expect(taken.length).toBe(48);
    expect(refusal).toBe('reserved');
    const own = Array.from({ length: 20 }, (_, number) =>
      seats.take(64, 64, { client: `own ${number}`, subnet: `own ${number % 10}`, isTracked: true }),
    );
    expect(own.filter((seat) => typeof seat !== 'string').length).toBe(16);
    expect(own.at(-1)).toBe('full');
  });

  test('it is a quarter of what there is now, in either lane', () => {
    const { taken, refusal } = floodedByStrangers(64, 256);
    expect(taken.filter(({ isFirst }) => isFirst).length).toBe(48);
    expect(refusal).toBe('reserved');
    const seats = new FairSeats(() => KEPT);
    let further = 0;
    while (typeof seats.take(64, 256, { client: undefined, subnet: `stranger ${further}` }) !== 'string') further += 1;
    expect(further).toBe(48);
  });

  test('strangers who still have what they got under a higher limit do not keep them out', () => {
    const { seats } = floodedByStrangers(256, 256);
    const shares = { client: undefined, subnet: 'own', isTracked: true };
    expect(seats.take(32, 256, { client: undefined, subnet: 'stranger' })).toBe('reserved');
    const taken = Array.from({ length: 8 }, () => seats.take(32, 256, shares)).filter(
      (seat) => typeof seat !== 'string',
    );
    // Of the eight that are kept, four fifths for one subnet.
    expect(taken.length).toBeGreaterThanOrEqual(6);
  });

  test('they may have all that is free, and strangers find their share again', () => {
    const seats = new FairSeats(() => KEPT);
    let own = 0;
    while (typeof seats.take(64, 64, { client: `own ${own}`, subnet: `own ${own}`, isTracked: true }) !== 'string')
      own += 1;
    expect(own).toBe(64);
    expect(seats.take(64, 64, stranger(1))).toBe('full');
  });

  test('what was looked up and is theirs counts as theirs', () => {
    const seats = new FairSeats(() => KEPT);
    const looked = Array.from({ length: 8 }, (_, number) => {
      const seat = seats.take(64, 64, { client: `c${number}`, subnet: undefined }) as Seat;
      expect(seats.move(64, 64, seat, `own ${number}`, true)).toBeUndefined();
      return seat;
    });
    expect(looked.every(({ isTracked }) => isTracked)).toBe(true);
    let strangers = 0;
    while (typeof seats.take(64, 64, stranger(strangers)) !== 'string') strangers += 1;
    expect(strangers).toBe(48);
  });

  test('in any order of events, strangers never have more than three quarters, and they find room in the rest', () => {
    const own = fc.boolean();
    const events = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('take' as const), client: fc.nat(9), subnet: fc.nat(5), isTracked: own, limit }),
        fc.record({ kind: fc.constant('release' as const), pick: fc.nat() }),
        fc.record({ kind: fc.constant('move' as const), pick: fc.nat(), subnet: fc.nat(5), isTracked: own, limit }),
      ),
      { maxLength: 200 },
    );
    const nameOf = (number: number, isTracked: boolean) => `${isTracked ? 'own' : 'stranger'} ${number}`;
    fc.assert(
      fc.property(events, (all) => {
        const seats = new FairSeats(() => KEPT);
        const taken: Seat[] = [];
        const strangers = () => taken.filter(({ isTracked }) => !isTracked).length;
        for (const event of all) {
          if (event.kind === 'take') {
            const { isTracked } = event;
            const kept = Math.floor(KEPT * event.limit);
            const ownTaken = taken.length - strangers();
            const shares = { client: `c${event.client}`, subnet: nameOf(event.subnet, isTracked), isTracked };
            const outcome = seats.take(event.limit, MOST, shares);
            if (typeof outcome === 'string') {
              expect(isTracked && outcome === 'reserved').toBe(false);
              if (isTracked && outcome === 'full') expect(ownTaken >= kept || taken.length === MOST).toBe(true);
              continue;
            }
            taken.push(outcome);
            if (isTracked) continue;
            expect(strangers()).toBeLessThanOrEqual(MOST - Math.floor(KEPT * MOST));
            const ofLane = taken.filter((seat) => !seat.isTracked && (!outcome.isFirst || seat.isFirst)).length;
            expect(ofLane).toBeLessThanOrEqual(event.limit - kept);
          } else if (taken.length > 0) {
            const seat = taken[event.pick % taken.length] as Seat;
            if (event.kind === 'release') {
              seats.release(seat);
              taken.splice(taken.indexOf(seat), 1);
            } else if (!seat.isTracked) {
              // Nothing that is theirs becomes a stranger's: what a chain's subnet is never changes.
              seats.move(event.limit, MOST, seat, nameOf(event.subnet, event.isTracked), event.isTracked);
            }
          }
        }
        for (const seat of taken) seats.release(seat);
        // All is given back: without anybody of their own, strangers have their three quarters, one client two thirds of them.
        expect(takeAll(seats, 40, 'c0', 's0').taken.length).toBe(20);
      }),
      { numRuns: 300 },
    );
  });
});
