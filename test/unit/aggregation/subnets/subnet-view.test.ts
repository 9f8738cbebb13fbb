import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assembleSubnetView, type SubnetFacts } from '../../../../src/aggregation/subnets/subnet-view.ts';
import type { AnswerPast, LastOutcome } from '../../../../src/aggregation/validators/answer-history.ts';
import type { PeerView } from '../../../../src/p2p/peer-view.ts';
import { isQuorumReached } from '../../../../src/validators/quorum.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import type { NodeID, ValidationID } from '../../../../src/warp/ids.ts';
import { nodeOf, SUBNET } from '../aggregator-fixture.ts';

const CONNECTED: PeerView = { obstacle: undefined, address: undefined, client: undefined };
const REFUSED: PeerView = { ...CONNECTED, obstacle: { cause: 'unreachable', reason: 'connection refused' } };

const SILENT: LastOutcome = { outcome: 'timed_out', reason: 'no_answer' };
const DROPPED: LastOutcome = { outcome: 'timed_out', reason: 'request_dropped' };

function past(
  last: LastOutcome | LastOutcome['outcome'],
  ageMs = 0,
  refusal?: { code: number; text: string },
): AnswerPast {
  const known = typeof last === 'string' ? { outcome: last } : last;
  return { last: { ...known, ageMs }, lastRefusal: refusal && { ...refusal, ageMs }, latency: undefined };
}

/** Validators 1, 2, … of these weights, each with a different key. */
function factsOf(weights: readonly bigint[], more: Partial<SubnetFacts> = {}): SubnetFacts {
  const validators = weights.map((weight, i) => ({
    nodeID: nodeOf(i + 1),
    publicKey: Uint8Array.of(...new Uint8Array(47), i + 1),
    weight,
  }));
  return {
    subnetID: SUBNET,
    pChainHeight: 9n,
    warpSet: createWarpSet(validators),
    peerOf: () => CONNECTED,
    pastOf: () => undefined,
    isInvalidSigner: () => false,
    funds: new Map(),
    ...more,
  };
}

const only = (nodeID: NodeID, value: PeerView) => (asked: NodeID) => (asked === nodeID ? value : CONNECTED);

describe('a validator', () => {
  test('that was never asked counts as one that signs, and one that is not connected is unreachable', () => {
    expect(assembleSubnetView(factsOf([60n, 40n], { peerOf: only(nodeOf(1), REFUSED) }))).toMatchObject({
      totalWeight: 100n,
      connectedWeight: 40n,
      reachableWeight: 40n,
      signableWeight: 40n,
      highestQuorumNum: 40n,
      validators: [
        { status: 'unreachable', reason: 'connection refused', weight: 60n, index: 0 },
        { status: 'signable', reason: undefined, weight: 40n },
      ],
    });
  });

  test.each<[string, AnswerPast, 'signable' | 'doubtful', boolean]>([
    ['signed', past('signed'), 'signable', true],
    ['refused one message', past('refused', 0, { code: 1, text: 'unknown' }), 'signable', true],
    ['refuses every request', past('refused', 0, { code: -4, text: 'throttled' }), 'doubtful', true],
    [
      'is asked about a chain that signs nothing',
      past('refused', 0, { code: -2, text: 'no handler' }),
      'signable',
      true,
    ],
    ['gave no signature', past('invalid_signature'), 'doubtful', true],
    ['gave no answer', past(SILENT), 'doubtful', false],
    ['drops our requests', past(DROPPED), 'doubtful', false],
    ['lost its connection, and has a new one', past('unreachable'), 'signable', true],
    ['gave no answer long ago', past(SILENT, 11 * 60_000), 'signable', true],
  ])('that %s', (_, itsPast, status, isReachable) => {
    const view = assembleSubnetView(factsOf([100n], { pastOf: () => itsPast }));
    expect(view.validators[0]?.status).toBe(status);
    expect(view).toMatchObject({
      connectedWeight: 100n,
      reachableWeight: isReachable ? 100n : 0n,
      signableWeight: status === 'signable' ? 100n : 0n,
    });
    expect(view.validators[0]?.reason === undefined).toBe(status === 'signable');
  });

  test('that gave a bad signature is reachable, and not counted on', () => {
    const view = assembleSubnetView(factsOf([100n], { isInvalidSigner: () => true }));
    expect(view).toMatchObject({ reachableWeight: 100n, signableWeight: 0n });
    expect(view.validators[0]).toMatchObject({ status: 'doubtful', reason: 'it gave a bad signature' });
  });

  test('with several nodes is as good as the best of them', () => {
    const publicKey = new Uint8Array(48).fill(1);
    const warpSet = createWarpSet([1, 2].map((number) => ({ nodeID: nodeOf(number), publicKey, weight: 5n })));
    const [bad, good] = [nodeOf(1), nodeOf(2)];
    const facts = factsOf([], { warpSet, peerOf: only(bad, REFUSED) });
    expect(assembleSubnetView(facts).validators).toMatchObject([{ status: 'signable', weight: 10n }]);
    const silent = (nodeID: NodeID) => (nodeID === bad ? past(SILENT) : undefined);
    expect(assembleSubnetView({ ...facts, peerOf: () => CONNECTED, pastOf: silent }).validators[0]?.status).toBe(
      'signable',
    );
    const withoutGood = assembleSubnetView({ ...facts, peerOf: only(good, REFUSED), pastOf: silent });
    expect(withoutGood.validators[0]?.status).toBe('doubtful');
  });
});

test('inactive validators come last, with what they have left', () => {
  const funds = (balance: bigint) => ({ validationID: 'v' as ValidationID, weight: 30n, balance });
  const view = assembleSubnetView(
    factsOf([60n, 10n], {
      funds: new Map([
        [nodeOf(1), funds(5n)],
        // Of the set at this height, though it has nothing left now.
        [nodeOf(2), funds(0n)],
        [nodeOf(7), funds(0n)],
        // Registered after this height.
        [nodeOf(8), funds(4n)],
      ]),
    }),
  );
  expect(view.validators).toMatchObject([
    { weight: 60n, nodes: [{ funds: { balance: 5n } }] },
    { weight: 10n, status: 'signable', nodes: [{ funds: { balance: 0n } }] },
    { weight: 30n, status: 'inactive', index: undefined, publicKeyHex: undefined, nodes: [{ nodeID: nodeOf(7) }] },
  ]);
});

test('the highest quorum is one that the signable weight reaches, and the next is not', () => {
  const weights = fc.array(fc.bigInt({ min: 1n, max: 10_000n }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(weights, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), (each, up) => {
      const numberOf = (nodeID: NodeID) => each.findIndex((_, i) => nodeOf(i + 1) === nodeID);
      const peerOf = (nodeID: NodeID) => (up[numberOf(nodeID)] ? CONNECTED : REFUSED);
      const { highestQuorumNum, signableWeight, totalWeight, validators } = assembleSubnetView(
        factsOf(each, { peerOf }),
      );
      expect(isQuorumReached(highestQuorumNum, signableWeight, totalWeight)).toBe(true);
      expect(isQuorumReached(highestQuorumNum + 1n, signableWeight, totalWeight)).toBe(false);
      const shown = validators.map(({ weight }) => weight);
      expect(shown).toEqual(shown.toSorted((a, b) => Number(b - a)));
    }),
  );
});
