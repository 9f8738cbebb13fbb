import { describe, expect, test } from 'vitest';
import {
  type Act,
  ANSWER_MS,
  createFixture,
  type Fixture,
  NOTHING_LEFT,
  SUBNET_ID,
} from './collection/collection-fixture.ts';

const VALIDATORS = 200;

function createRefusing(act: Act = 'refuses'): Fixture {
  const fixture = createFixture({ weights: Array(VALIDATORS).fill(1), limits: { maxConcurrentQueries: 2_048 } });
  for (const position of fixture.validators.keys()) fixture.script(position, act);
  return fixture;
}

function signAll(fixture: Fixture): void {
  for (const position of fixture.validators.keys()) fixture.script(position, 'signs');
}

/** Lets validators from that position on sign once that time has passed, and refuse before. */
function signAfter(fixture: Fixture, lagMs: number, from = 0): void {
  for (const position of fixture.validators.keys()) {
    if (position < from) continue;
    fixture.script(position, (query, attempt) =>
      fixture.acts(position, fixture.clock.monotonicMs() < lagMs ? 'refuses' : 'signs')(query, attempt),
    );
  }
}

async function request(fixture: Fixture, justification = fixture.createJustification()) {
  fixture.source.calls.length = 0;
  const startMs = fixture.clock.monotonicMs();
  const { value, atMs } = await fixture.finish(fixture.collect({ quorum: 67, justification }), 500);
  return { value, tookMs: atMs - startMs, queries: fixture.source.calls.length };
}

/** Queries by the time they were sent, in the order of time. */
function waves({ source }: Fixture): number[] {
  const counts = new Map<number, number>();
  for (const { atMs } of source.calls) counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
  return [...counts.values()];
}

describe('a message that all validators refuse', () => {
  test('costs one question to each that the quorum needs, and two at a time for some seconds', async () => {
    const fixture = createRefusing();
    const { value, tookMs } = await request(fixture);
    expect(value).toMatchObject({ kind: 'insufficient', summary: { outcomes: { refused: { count: 135 } } } });
    // 134 for the quorum, and one before it was clear that several refuse.
    const [first, second, ...repeats] = waves(fixture);
    expect([first, second]).toEqual([134, 1]);
    // After 50, 100 and 250 ms, and then every 400 ms.
    expect(repeats).toEqual(Array(14).fill(2));
    expect(tookMs).toBe(5_000);
    expect(fixture.leftovers()).toEqual(NOTHING_LEFT);
  });

  test('is shown to all validators in turn, and not to the same two', async () => {
    const fixture = createFixture({ weights: Array(20).fill(1) });
    for (const position of fixture.validators.keys()) fixture.script(position, 'refuses');
    await request(fixture);
    const asked = fixture.asked();
    for (const position of fixture.validators.keys()) {
      expect(asked.filter((other) => other === position).length).toBeLessThanOrEqual(3);
    }
    // Three to the eight of a sample and one to the others are 36.
    expect(asked.length).toBeLessThanOrEqual(2 * 36);
  });

  test('where many were refused lately, is found out by a third of the weight in widening waves', async () => {
    const fixture = createRefusing();
    await Promise.all(Array.from({ length: 5 }, () => request(fixture)));
    const { value, queries } = await request(fixture);
    expect(value.kind).toBe('insufficient');
    expect(waves(fixture).slice(0, 5)).toEqual([3, 3, 6, 12, 24]);
    expect(queries).toBeLessThanOrEqual(96 + 2 * 14);
  });

  test('that is large is shown to a few first; refused for good, it costs one question to a third of the weight', async () => {
    const fixture = createRefusing('refuses for good');
    const first = await request(fixture, new Uint8Array(200_000));
    expect(waves(fixture).slice(0, 3)).toEqual([3, 3, 6]);
    expect(first.queries).toBeLessThanOrEqual(96);
    expect(first.value.kind).toBe('insufficient');
  });
});

describe('a good message', () => {
  test('is shown to all that the quorum needs at once, also after a mistake or two', async () => {
    const fixture = createRefusing();
    for (let i = 0; i < 2; i += 1) await request(fixture);
    signAll(fixture);
    const { value, tookMs } = await request(fixture);
    expect(value.kind).toBe('signed');
    expect(tookMs).toBe(ANSWER_MS);
    expect(waves(fixture)).toEqual([134]);
  });

  test.each([200, 1_000, 1_500, 3_000])(
    'that validators execute after %i ms is signed by all as soon as one of two has it',
    async (lagMs) => {
      const fixture = createRefusing();
      signAfter(fixture, lagMs);
      const { value, tookMs } = await request(fixture);
      expect(value.kind).toBe('signed');
      expect(tookMs).toBeLessThanOrEqual(lagMs + 400 + 3 * ANSWER_MS);
    },
  );

  test('is signed though each validator executes it at another time', async () => {
    const fixture = createFixture({ weights: Array(20).fill(1) });
    for (const position of fixture.validators.keys()) {
      const lagMs = 1_000 + 100 * ((7 * position) % 20);
      fixture.script(position, (query, attempt) =>
        fixture.acts(position, fixture.clock.monotonicMs() < lagMs ? 'refuses' : 'signs')(query, attempt),
      );
    }
    const { value, tookMs } = await request(fixture);
    expect(value.kind).toBe('signed');
    // The 14th executes it after 2.3 s.
    expect(tookMs).toBeLessThanOrEqual(2_300 + 400 + 3 * ANSWER_MS);
  });

  test('is signed though the heaviest third refuses for ever, and all others at first', async () => {
    const fixture = createRefusing();
    signAfter(fixture, 200, 66);
    const { value, tookMs } = await request(fixture);
    expect(value.kind).toBe('signed');
    expect(tookMs).toBeLessThan(1_000);
  });

  test('leaves no doubt about validators that were not asked again', async () => {
    const fixture = createFixture({ weights: Array(20).fill(1) });
    signAfter(fixture, 200);
    await request(fixture);
    const history = fixture.deps.histories.of(SUBNET_ID);
    const nodes = fixture.validators.flatMap(({ nodeIDs }) => nodeIDs);
    expect(nodes.filter((nodeID) => history.recordOf(nodeID)?.isDoubtful)).toEqual([]);
  });
});
