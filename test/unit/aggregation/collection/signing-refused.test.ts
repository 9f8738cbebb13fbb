import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeFailure } from '../../../../src/aggregation/collection/collection-failure.ts';
import { P_CHAIN_ID } from '../../../../src/warp/ids.ts';
import { answers, createFixture } from './collection-fixture.ts';

const FINAL_CODE = 7;
const validator = fc.record({
  weight: fc.integer({ min: 1, max: 20 }),
  does: fc.oneof(
    { weight: 3, arbitrary: fc.constant('refuses for good' as const) },
    { weight: 2, arbitrary: fc.constantFrom('signs', 'refuses for now', 'silent', 'is not connected') },
  ),
});
const network = fc.record({
  validators: fc.array(validator, { minLength: 1, maxLength: 8 }),
  keyless: fc.nat(10),
  quorum: fc.integer({ min: 0, max: 100 }),
});
type Network = typeof network extends fc.Arbitrary<infer T> ? T : never;

/** Runs a collection to its end: the verdict, who was asked, and who answered. */
async function collect({ validators, keyless, quorum }: Network) {
  const fixture = createFixture({
    weights: validators.map(({ weight }) => weight),
    keyless,
    sourceChainID: P_CHAIN_ID,
  });
  for (const [position, { does }] of validators.entries()) {
    if (does === 'signs' || does === 'silent') fixture.script(position, does);
    else
      fixture.script(
        position,
        answers({ kind: 'refused', code: does === 'refuses for now' ? 6 : FINAL_CODE, text: '' }),
      );
    if (does === 'is not connected')
      for (const nodeID of fixture.at(position).nodeIDs) fixture.source.disconnect(nodeID);
  }
  const { value, atMs } = await fixture.finish(fixture.collect({ quorum }));
  const asked = fixture.asked();
  const total = validators.reduce((sum, { weight }) => sum + weight, keyless);
  const needed = Math.max(1, Math.ceil((quorum * total) / 100));
  if (value.kind === 'signed') return { code: 'signed', asked, atMs, total, needed, refused: 0 } as const;
  const { summary, refusedForGood } = value;
  const { code } = describeFailure({ summary, refusedForGood, quorumNum: BigInt(quorum), isOfL1: false });
  const final = summary.outcomes.refused.reasons.find((reason) => reason.code === FINAL_CODE);
  return { code, asked, atMs, total, needed, refused: Number(final?.weight ?? 0n) };
}

const weightOf = (validators: Network['validators'], does: string): number =>
  validators.reduce((sum, each) => (each.does === does ? sum + each.weight : sum), 0);

test('is the verdict exactly where the weight that refused for good leaves too little, after at most one question to each', async () => {
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(network, async (drawn) => {
      const { code, asked, total, needed, refused } = await collect(drawn);
      expect(code === 'signing_refused').toBe(total - refused < needed);
      if (code === 'signing_refused') refusals += 1;
      // Never where those that did not refuse for good could still make up the quorum one day.
      if (total - weightOf(drawn.validators, 'refuses for good') >= needed) expect(code).not.toBe('signing_refused');
      for (const [position, { does }] of drawn.validators.entries()) {
        if (does !== 'refuses for good') continue;
        expect(asked.filter((other) => other === position).length).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 150 },
  );
  expect(refusals).toBeGreaterThan(25);
}, 30_000);

test('does not depend on the order in which the refusals arrive, where some weight has no key', async () => {
  const refusing = fc.record({ weight: fc.integer({ min: 1, max: 20 }), afterMs: fc.integer({ min: 1, max: 400 }) });
  const inAnyOrder = fc.record({
    validators: fc.array(refusing, { minLength: 1, maxLength: 8 }),
    keyless: fc.nat(20),
    quorum: fc.integer({ min: 51, max: 100 }),
  });
  await fc.assert(
    fc.asyncProperty(inAnyOrder, async ({ validators, keyless, quorum }) => {
      const weights = validators.map(({ weight }) => weight);
      const withKey = weights.reduce((sum, weight) => sum + weight, 0);
      // Otherwise no validator is asked.
      fc.pre(100 * withKey >= quorum * (withKey + keyless));
      const fixture = createFixture({ weights, keyless, sourceChainID: P_CHAIN_ID });
      for (const [position, { afterMs }] of validators.entries()) {
        const outcome = { kind: 'refused', code: FINAL_CODE, text: 'never' } as const;
        fixture.script(position, answers(outcome, afterMs));
      }
      const { value } = await fixture.finish(fixture.collect({ quorum }));
      if (value.kind !== 'insufficient') throw new Error('a message was signed that all refuse');
      const { code } = describeFailure({ ...value, quorumNum: BigInt(quorum), isOfL1: false });
      expect(code).toBe('signing_refused');
    }),
    { numRuns: 150 },
  );
}, 30_000);
