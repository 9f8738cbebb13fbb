import { describe, expect, test } from 'vitest';
import { type Act, ANSWER_MS, createFixture, type Fixture, NOTHING_LEFT } from './collection/collection-fixture.ts';

const VALIDATORS = 200;

function createRefusing(act: Act = 'refuses'): Fixture {
  const fixture = createFixture({ weights: Array(VALIDATORS).fill(1), limits: { maxConcurrentQueries: 2_048 } });
  for (const position of fixture.validators.keys()) fixture.script(position, act);
  return fixture;
}

function signAll(fixture: Fixture): void {
  for (const position of fixture.validators.keys()) fixture.script(position, 'signs');
}

/** Lets validators from that position on sign once 200 ms have passed, and refuse before. */
function signSoon(fixture: Fixture, from: number): void {
  for (const position of fixture.validators.keys()) {
    if (position < from) continue;
    fixture.script(position, (query, attempt) =>
      fixture.acts(position, fixture.clock.monotonicMs() < 200 ? 'refuses' : 'signs')(query, attempt),
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
  test('costs no more than one question to each that the quorum needs, and those of a sample', async () => {
    const fixture = createRefusing();
    const { value, queries, tookMs } = await request(fixture);
    expect(value).toMatchObject({ kind: 'insufficient', summary: { outcomes: { refused: { count: 141 } } } });
    // 134 for the quorum, 7 before it was clear that many refuse, and the sample of 8 twice. All, three times each, would be 600.
    expect(queries).toBe(134 + 7 + 2 * 8);
    expect(tookMs).toBeLessThan(1_500);
    expect(fixture.leftovers()).toEqual(NOTHING_LEFT);
  });

  test('where many were refused lately, is found out by a third of the weight in widening waves', async () => {
    const fixture = createRefusing();
    await Promise.all(Array.from({ length: 5 }, () => request(fixture)));
    const { value, queries } = await request(fixture);
    expect(value.kind).toBe('insufficient');
    expect(waves(fixture).slice(0, 5)).toEqual([3, 3, 6, 12, 24]);
    expect(queries).toBeLessThanOrEqual(96 + 2 * 8);
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

  test('that no validator has yet is signed by all as soon as the sample has it', async () => {
    const fixture = createRefusing();
    signSoon(fixture, 0);
    const { value, tookMs } = await request(fixture);
    expect(value.kind).toBe('signed');
    expect(tookMs).toBeLessThanOrEqual(ANSWER_MS + 300 + 2 * ANSWER_MS);
  });

  test('is signed though the heaviest third refuses for ever, and all others at first', async () => {
    const fixture = createRefusing();
    signSoon(fixture, 66);
    expect((await request(fixture)).value.kind).toBe('signed');
  });
});
