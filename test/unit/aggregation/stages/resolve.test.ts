import { expect, test } from 'vitest';
import type { LookupRequest } from '../../../../src/aggregation/admission/lookups.ts';
import type { AggregationRequest } from '../../../../src/aggregation/request/aggregation-request.ts';
import type { SigningPlan } from '../../../../src/aggregation/signers/signing-plan.ts';
import { resolve } from '../../../../src/aggregation/stages/resolve.ts';
import type { SubnetID } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { CHAIN, MESSAGE, NO_POLICY, SUBNET, TX, UNKNOWN_CHAIN } from '../aggregator-fixture.ts';
import { askedCall, createStageMetrics, planOf, RESULT, recordedPlace } from './stage-fixture.ts';

const PLAN = planOf();
const SUBJECT = { kind: 'message', message: MESSAGE, justification: new Uint8Array() } as const;

function create(facts: { readonly known?: SigningPlan; readonly subnetID?: SubnetID }) {
  const asked: string[] = [];
  const lookups: LookupRequest[] = [];
  const planned: SigningPlan[] = [];
  const handler = resolve(
    {
      resolver: {
        known: () => facts.known,
        knownSigningSubnet: () => facts.subnetID,
        isDestinationKnown: ({ destination }) => destination?.chainID !== UNKNOWN_CHAIN,
        async resolve() {
          asked.push('resolve');
          return PLAN;
        },
      },
      admission: { placeFor: () => recordedPlace().place },
      lookups: {
        run(_, request, find, signal) {
          lookups.push(request);
          return find(signal);
        },
      },
      subnets: NO_POLICY,
      clock: new FakeClock(),
      metrics: createStageMetrics().metrics,
    },
    async ({ plan }) => {
      planned.push(plan);
      return RESULT;
    },
  );
  return { handler, asked, lookups, planned };
}

test('takes a plan from memory', async () => {
  const { handler, asked, planned } = create({ known: PLAN });
  await handler(askedCall({ subject: SUBJECT }));
  expect([asked, planned]).toEqual([[], [PLAN]]);
});

test('reads the set of a known subnet at the proposed height without a permit of a lookup', async () => {
  const { handler, asked, lookups } = create({ subnetID: SUBNET });
  await handler(askedCall({ subject: SUBJECT }));
  expect([asked, lookups]).toEqual([['resolve'], []]);
});

test.each<[string, SubnetID | undefined, Partial<AggregationRequest>, Partial<LookupRequest>]>([
  ['an unknown source chain', undefined, {}, { subnetID: undefined, mayFindNothing: true }],
  ['a height', SUBNET, { pChainHeight: 7n }, { subnetID: SUBNET, mayFindNothing: false }],
  ['a known destination', SUBNET, { destinationChainID: CHAIN }, { subnetID: SUBNET, mayFindNothing: false }],
  ['an unknown destination', SUBNET, { destinationChainID: UNKNOWN_CHAIN }, { mayFindNothing: true }],
])('looks up the signers of a request with %s', async (_, subnetID, more, expected) => {
  const { handler, lookups } = create({ ...(subnetID && { subnetID }) });
  await handler(askedCall({ subject: SUBJECT, ...more }, { client: 'a' }));
  expect(lookups).toEqual([expect.objectContaining({ client: 'a', ...expected })]);
});

test('gives the caller the plan before it goes on, and the time that it took', async () => {
  const { handler, planned } = create({ subnetID: SUBNET });
  const seen: unknown[] = [];
  await handler(
    askedCall(
      { subject: SUBJECT },
      {
        onResolved: (plan) => void seen.push(plan, planned.length),
        onPhase: (phase) => void seen.push(phase),
      },
    ),
  );
  expect(seen).toEqual(['resolve', PLAN, 0]);
});

test('comes after the message was found', async () => {
  const { handler } = create({ known: PLAN });
  await expect(handler(askedCall({ subject: { kind: 'transaction', txID: TX } }))).rejects.toThrow(
    'the message of a transaction is found before its signers',
  );
});
