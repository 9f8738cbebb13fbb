import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  MAX_UPTIME_QUESTIONS,
  planUptimeSearch,
  TOP_UPTIME,
  type UptimeStanding,
} from '../../../../src/aggregation/subnets/uptime-search.ts';

interface Node {
  readonly weight: bigint;
  /** Undefined: it does not know the validation. */
  readonly figure: bigint | undefined;
  /** What it says of its figure when it refuses: the truth, nothing, or something else. */
  readonly states: 'its figure' | 'nothing' | bigint;
  /** Does not answer. */
  readonly isSilent: boolean;
}

const UNTRIED = { signed: undefined, refused: undefined, hasStated: false };

/** Runs the whole search: its result, and how often each node was asked. */
function search(nodes: readonly Node[], neededWeight: bigint) {
  const states: UptimeStanding[] = nodes.map(({ weight }) => ({ ...UNTRIED, weight, isOut: false }));
  const asked = nodes.map(() => 0);
  for (let rounds = 0; ; rounds += 1) {
    const step = planUptimeSearch(states, neededWeight, rounds);
    if (step.kind !== 'ask') return { step, asked, rounds };
    expect(step.indices.length).toBeGreaterThan(0);
    for (const index of step.indices) {
      asked[index] = (asked[index] ?? 0) + 1;
      states[index] = { ...(states[index] as UptimeStanding), ...answer(nodes[index] as Node, step.uptime) };
    }
  }
}

function answer({ figure, states, isSilent }: Node, uptime: bigint): Partial<UptimeStanding> {
  if (isSilent) return { isOut: true };
  if (figure !== undefined && figure >= uptime) return { signed: uptime };
  const stated = states === 'its figure' ? figure : states === 'nothing' ? undefined : states;
  return stated === undefined || stated >= uptime ? { refused: uptime } : { refused: stated + 1n, hasStated: true };
}

/** Tries every figure. */
function highest(nodes: readonly Node[], neededWeight: bigint): bigint | undefined {
  const figures = nodes.flatMap(({ figure, isSilent }) => (figure === undefined || isSilent ? [] : [figure]));
  return figures
    .toSorted((a, b) => (a < b ? 1 : -1))
    .find((uptime) => {
      const signers = nodes.filter(({ figure, isSilent }) => !isSilent && figure !== undefined && figure >= uptime);
      return signers.reduce((sum, { weight }) => sum + weight, 0n) >= neededWeight;
    });
}

const figures = fc.oneof(
  fc.bigInt({ min: 0n, max: TOP_UPTIME }),
  fc.bigInt({ min: 0n, max: 20n }),
  fc.constantFrom(0n, 1n, TOP_UPTIME - 1n, TOP_UPTIME),
);
const honest: fc.Arbitrary<Node> = fc.record({
  weight: fc.bigInt({ min: 1n, max: 1_000n }),
  figure: fc.option(figures, { nil: undefined }),
  states: fc.constantFrom('its figure', 'nothing'),
  isSilent: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const neededOf = (nodes: readonly Node[], percent: bigint): bigint => {
  const total = nodes.reduce((sum, { weight }) => sum + weight, 0n);
  return (percent * total + 99n) / 100n || 1n;
};
const percents = fc.bigInt({ min: 0n, max: 100n });
const FEW = { maxLength: 8, minLength: 1 };

const liar = fc
  .tuple(honest, figures)
  .map(([node, states]): Node => ({ ...node, states, figure: node.figure ?? 0n, isSilent: false }));

test('the search finds what trying every figure finds, in a bounded number of questions; false figures lower it at most', () => {
  fc.assert(
    fc.property(fc.array(honest, FEW), fc.array(liar, { maxLength: 3 }), percents, (truthful, liars, percent) => {
      const nodes = [...truthful, ...liars];
      const needed = neededOf(nodes, percent);
      const { step, asked } = search(nodes, needed);
      for (const count of asked) expect(count).toBeLessThanOrEqual(MAX_UPTIME_QUESTIONS);
      const found = step.uptime;
      const [withLiars, withoutLiars] = [highest(nodes, needed), highest(truthful, needed)];
      if (liars.length === 0) expect(found).toBe(withLiars);
      // At least what the others sign without them, and never more than what is really signed.
      if (found === undefined) expect(withoutLiars).toBeUndefined();
      else expect(found >= (withoutLiars ?? 0n) && found <= (withLiars ?? -1n)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
