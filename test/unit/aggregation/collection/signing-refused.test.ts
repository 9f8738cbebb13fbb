import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeFailure } from '../../../../src/aggregation/collection/collection-failure.ts';
import { P_CHAIN_ID } from '../../../../src/warp/ids.ts';
import { answers, createFixture } from './collection-fixture.ts';

const FINAL_CODE = 7;
const validator = fc.record({
  weight: fc.integer({ min: 1, max: 20 }),
  does: fc.oneof(
    { weight: 5, arbitrary: fc.constant('refuses for good' as const) },
    { weight: 2, arbitrary: fc.constantFrom('signs', 'refuses for now', 'silent', 'is not connected') },
  ),
  afterMs: fc.integer({ min: 1, max: 40 }).map((tens) => tens * 10),
});
const network = fc.record({
  validators: fc.array(validator, { minLength: 1, maxLength: 8 }),
  keyless: fc.nat(10),
  quorum: fc.integer({ min: 0, max: 100 }),
});
type Network = typeof network extends fc.Arbitrary<infer T> ? T : never;

/** Runs a collection to its end: the verdict, who was asked, and the weight that was seen to refuse for good. */
async function collect({ validators, keyless, quorum }: Network) {
  const fixture = createFixture({
    weights: validators.map(({ weight }) => weight),
    keyless,
    sourceChainID: P_CHAIN_ID,
  });
  for (const [position, { does, afterMs }] of validators.entries()) {
    const code = does === 'refuses for now' ? 6 : FINAL_CODE;
    const refusal = answers({ kind: 'refused', code, text: '' }, afterMs);
    fixture.script(position, does === 'signs' || does === 'silent' ? fixture.acts(position, does, afterMs) : refusal);
    if (does === 'is not connected')
      for (const nodeID of fixture.at(position).nodeIDs) fixture.source.disconnect(nodeID);
  }
  const { value } = await fixture.finish(fixture.collect({ quorum }));
  const asked = fixture.asked();
  if (value.kind === 'signed') return { code: 'signed', asked, refused: 0 } as const;
  const { code } = describeFailure({ ...value, quorumNum: BigInt(quorum), isOfL1: false, registration: undefined });
  const final = value.summary.outcomes.refused.reasons.find((reason) => reason.code === FINAL_CODE);
  return { code, asked, refused: Number(final?.weight ?? 0n) };
}

test('is the verdict exactly where the weight that refused for good leaves too little, after at most one question to each', async () => {
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(network, async (drawn) => {
      const { validators, keyless, quorum } = drawn;
      const { code, asked, refused } = await collect(drawn);
      const withKey = validators.reduce((sum, { weight }) => sum + weight, 0);
      const needed = Math.max(1, Math.ceil((quorum * (withKey + keyless)) / 100));
      expect(code === 'signing_refused').toBe(withKey + keyless - refused < needed);
      if (code === 'signing_refused') refusals += 1;
      const refusing = validators.filter(({ does }) => does === 'refuses for good');
      // Never where those that did not refuse for good could still make up the quorum one day.
      const others = refusing.reduce((rest, { weight }) => rest - weight, withKey + keyless);
      if (others >= needed) expect(code).not.toBe('signing_refused');
      // In whatever order all refuse, also where some weight has no key. Without enough weight none is asked.
      const allRefuse = refusing.length === validators.length;
      if (allRefuse && quorum > 50 && withKey >= needed) expect(code).toBe('signing_refused');
      for (const [position, { does }] of validators.entries()) {
        if (does !== 'refuses for good') continue;
        expect(asked.filter((other) => other === position).length).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 200 },
  );
  expect(refusals).toBeGreaterThan(25);
}, 30_000);
