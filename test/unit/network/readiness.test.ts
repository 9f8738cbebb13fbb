import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SubnetReadiness } from '../../../src/aggregation/validators/required-subnets.ts';
import { decideStatus, type NetworkView, START_GRACE_MS } from '../../../src/network/readiness.ts';
import type { SubnetID } from '../../../src/warp/ids.ts';

function subnet(isUp: boolean, reason = 'only 10 % of the weight is connected'): SubnetReadiness {
  return {
    subnetID: 'subnet' as SubnetID,
    isUp,
    reason: isUp ? undefined : reason,
    connected: { weight: isUp ? 90n : 10n, totalWeight: 100n },
  };
}

const [strong, weak] = [subnet(true), subnet(false)];
const unread: SubnetReadiness = { ...weak, connected: undefined, isApiDown: true };
/** Its conversion is newer than the proposed height. The Go aggregator's health is down then, too. */
const empty: SubnetReadiness = { ...subnet(false, 'it has no validators'), connected: { weight: 0n, totalWeight: 0n } };
const young = { hasBeenUp: false, sinceStartMs: 1 };
const stale = { ...strong, reason: 'its set cannot be read anew' };
const old: NetworkView = {
  notOpen: undefined,
  subnets: [strong],
  apiProblem: undefined,
  hasBeenUp: true,
  sinceStartMs: START_GRACE_MS,
};

it.each<[string, Partial<NetworkView>, string]>([
  ['everything connected', {}, 'up'],
  ['everything connected at once', young, 'up'],
  ['a weak L1', { subnets: [strong, weak] }, 'degraded'],
  ['a weak L1 right after the start', { subnets: [strong, weak], ...young }, 'starting'],
  ['an L1 without validators right after the start', { subnets: [strong, empty], ...young }, 'starting'],
  ['an L1 without validators', { subnets: [strong, empty] }, 'degraded'],
  ['a weak L1 that never came', { subnets: [strong, weak], hasBeenUp: false }, 'degraded'],
  ['a weak L1 soon after the start that was up before', { subnets: [strong, weak], sinceStartMs: 1 }, 'degraded'],
  ['a set that cannot be read anew', { subnets: [stale, strong] }, 'degraded'],
  ['an API that stopped to answer', { apiProblem: 'no answer for 30 s' }, 'down'],
  ['a weak primary network', { subnets: [weak, strong] }, 'down'],
  ['a weak primary network right after the start', { subnets: [weak], ...young }, 'starting'],
  ['a set that cannot be read right after the start', { subnets: [unread], ...young }, 'down'],
  ['not open yet', { notOpen: { reason: 'r', isApiWrong: false }, ...young }, 'starting'],
  ['an API that does not answer or is wrong', { notOpen: { reason: 'r', isApiWrong: true }, ...young }, 'down'],
  ['never opened', { notOpen: { reason: 'r', isApiWrong: false }, hasBeenUp: false }, 'down'],
])('%s', (_, change, expected) => {
  expect(decideStatus({ ...old, ...change }).status).toBe(expected);
});

it('a status names the first weak subnet and the number of others', () => {
  const reasonWith = (...subnets: SubnetReadiness[]) => decideStatus({ ...old, subnets }).reason;
  expect(reasonWith(strong, weak)).toBe('subnet subnet: only 10 % of the weight is connected');
  expect(reasonWith(strong, weak, weak)).toBe('subnet subnet: only 10 % of the weight is connected, and 1 more');
});

it('a status has a reason unless up, and is never down because of L1s', () => {
  const views = fc.record({
    notOpen: fc.option(fc.record({ reason: fc.string(), isApiWrong: fc.boolean() }), { nil: undefined }),
    subnets: fc.array(fc.constantFrom(strong, weak, stale), { minLength: 1, maxLength: 5 }),
    apiProblem: fc.option(fc.string(), { nil: undefined }),
    hasBeenUp: fc.boolean(),
    sinceStartMs: fc.nat(2 * START_GRACE_MS),
  });
  fc.assert(
    fc.property(views, (view) => {
      const { status, reason } = decideStatus(view);
      expect(reason === undefined).toBe(status === 'up');
      const { notOpen, apiProblem, subnets } = view;
      const isServing = notOpen === undefined && apiProblem === undefined && subnets[0]?.isUp === true;
      if (isServing) expect(status).not.toBe('down');
      if (view.sinceStartMs >= START_GRACE_MS) expect(status).not.toBe('starting');
    }),
  );
});
