import { expect, test } from 'vitest';
import type { SigningPlan } from '../../../../src/aggregation/signers/signing-plan.ts';
import { followSet } from '../../../../src/aggregation/stages/follow-set.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { plannedCall, planOf, RESULT } from './stage-fixture.ts';

const FIRST = planOf();
const CHANGED = planOf({}, [50n, 30n, 20n]);

/** @param later the plans that are found after each signature */
function create(later: readonly SigningPlan[]) {
  const signed: SigningPlan[] = [];
  const left = [...later];
  const stage = followSet({
    resolver: { resolveAgain: async (before) => left.shift() ?? before, knownTarget: () => undefined },
    clock: new FakeClock(),
  });
  const handler = stage(async ({ plan }) => {
    signed.push(plan);
    return { ...RESULT, totalWeight: plan.warpSet.totalWeight };
  });
  return { handler, signed };
}

test('signs once where the set stays, also at another height', async () => {
  const { handler, signed } = create([planOf({ pChainHeight: 99n })]);
  await handler(plannedCall(FIRST));
  expect(signed).toEqual([FIRST]);
});

test('signs again for the set that has come meanwhile', async () => {
  const { handler, signed } = create([CHANGED]);
  await handler(plannedCall(FIRST));
  expect(signed).toEqual([FIRST, CHANGED]);
});

test('follows two changes, and returns what is signed then', async () => {
  const { handler, signed } = create([CHANGED, FIRST, CHANGED, FIRST]);
  await handler(plannedCall(FIRST));
  expect(signed).toEqual([FIRST, CHANGED, FIRST]);
});

test('does not look at the set where the request names the height', async () => {
  const { handler, signed } = create([CHANGED]);
  const pinned = planOf({ question: { ...FIRST.question, pChainHeight: 98n } });
  await handler(plannedCall(pinned));
  expect(signed).toEqual([pinned]);
});

test('advises by the set that was found last', async () => {
  const destination = { chainID: FIRST.message.sourceChainID, isRequired: false };
  const { handler } = create([planOf({ question: { ...FIRST.question, destination } })]);
  const advice: string[] = [];
  await handler(
    plannedCall(FIRST, { onAdvice: ({ warnings }) => void advice.push(...warnings.map(({ code }) => code)) }),
  );
  expect(advice).toEqual(['unknown_destination']);
});
