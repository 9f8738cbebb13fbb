import { expect, test } from 'vitest';
import { recall } from '../../../../src/aggregation/stages/recall.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MESSAGE, TX } from '../aggregator-fixture.ts';
import { askedCall, createStageMetrics, planOf, RESULT } from './stage-fixture.ts';

const REQUEST = { subject: { kind: 'message', message: MESSAGE, justification: new Uint8Array() } } as const;

interface Memory {
  readonly isPlanKnown?: boolean;
  readonly result?: typeof RESULT;
  readonly isAllowed?: boolean;
}

function create({ isPlanKnown = true, result, isAllowed = true }: Memory) {
  const passed: string[] = [];
  const stage = recall({
    resolver: { known: () => (isPlanKnown ? planOf() : undefined), knownTarget: () => undefined },
    results: { result: () => result },
    subnets: { isAllowed: () => isAllowed },
    clock: new FakeClock(),
    metrics: createStageMetrics().metrics,
  });
  const handler = stage(async () => {
    passed.push('next');
    return { ...RESULT, signedWeight: 1n };
  });
  const onCacheMiss = async (): Promise<void> => void passed.push('units');
  return { handler, passed, onCacheMiss };
}

test('answers from memory at no cost', async () => {
  const { handler, passed, onCacheMiss } = create({ result: RESULT });
  expect(await handler(askedCall(REQUEST, { onCacheMiss }))).toBe(RESULT);
  expect(passed).toEqual([]);
});

test.each([
  ['is not in memory', {}],
  ['is of a set that is not in memory', { isPlanKnown: false, result: RESULT }],
  ['is of a subnet that is not allowed', { result: RESULT, isAllowed: false }],
])('charges for what %s, and goes on', async (_, facts) => {
  const { handler, passed, onCacheMiss } = create(facts);
  expect(await handler(askedCall(REQUEST, { onCacheMiss }))).toMatchObject({ signedWeight: 1n });
  expect(passed).toEqual(['units', 'next']);
});

test('charges for a transaction, whose message is not known yet', async () => {
  const { handler, passed, onCacheMiss } = create({ result: RESULT });
  await handler(askedCall({ subject: { kind: 'transaction', txID: TX } }, { onCacheMiss }));
  expect(passed).toEqual(['units', 'next']);
});

test('ends where the charge is refused, or the caller leaves meanwhile', async () => {
  const { handler, passed } = create({});
  const refused = askedCall(REQUEST, { onCacheMiss: () => Promise.reject(new Error('too many')) });
  await expect(handler(refused)).rejects.toThrow('too many');
  const leaving = new AbortController();
  const left = askedCall(REQUEST, {
    signal: leaving.signal,
    onCacheMiss: async () => leaving.abort(new Error('gone')),
  });
  await expect(handler(left)).rejects.toThrow('gone');
  expect(passed).toEqual([]);
});
