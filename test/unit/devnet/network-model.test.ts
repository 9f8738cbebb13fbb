import { describe, expect, test } from 'vitest';
import { createNetworkModel } from '../../../src/devnet/network-model.ts';
import { isQuorumReached } from '../../../src/validators/quorum.ts';
import type { Validator } from '../../../src/validators/validator.ts';
import { conversionID } from '../../../src/warp/conversion-data.ts';
import { type BlockchainID, nodeIDFromBytes, P_CHAIN_ID, PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { modelNode, testModel } from './test-model.ts';

const totalOf = (validators: readonly Validator[]): bigint => validators.reduce((sum, { weight }) => sum + weight, 0n);

describe('the L1 by height', () => {
  const model = testModel();
  const at = (height: bigint): Record<string, bigint> =>
    Object.fromEntries(
      model.validatorsAt(model.l1.subnetID, height).map(({ nodeID, weight }) => [nodeID, weight] as const),
    );
  const [first, removed, third] = [modelNode(1).nodeID, modelNode(2).nodeID, modelNode(3).nodeID];
  const [l1Only, registered, inactive] = [modelNode(6).nodeID, modelNode(7).nodeID, modelNode(8).nodeID];
  const keyless = nodeIDFromBytes(new Uint8Array(20));

  test.each([
    [99n, {}],
    [100n, { [first]: 100n, [l1Only]: 100n, [removed]: 100n, [inactive]: 60n, [third]: 150n }],
    [119n, { [first]: 100n, [l1Only]: 100n, [removed]: 100n, [inactive]: 60n, [third]: 150n }],
    [120n, { [first]: 100n, [l1Only]: 100n, [removed]: 100n, [inactive]: 60n, [third]: 150n, [registered]: 250n }],
    [140n, { [first]: 100n, [l1Only]: 350n, [removed]: 100n, [inactive]: 60n, [third]: 150n, [registered]: 250n }],
    [164n, { [first]: 100n, [l1Only]: 350n, [inactive]: 60n, [third]: 150n, [registered]: 250n }],
    [165n, { [first]: 100n, [l1Only]: 350n, [inactive]: 60n, [third]: 150n, [registered]: 250n, [removed]: 40n }],
    [180n, { [first]: 100n, [l1Only]: 350n, [keyless]: 60n, [third]: 150n, [registered]: 250n }],
    [10n ** 18n, { [first]: 100n, [l1Only]: 350n, [keyless]: 60n, [third]: 150n, [registered]: 250n }],
  ])('%i', (height, expected) => {
    expect(at(height)).toEqual(expected);
  });

  test('lists the inactive one without a key and with its weight', () => {
    const [entry] = model.validatorsAt(model.l1.subnetID, 200n).filter(({ publicKey }) => publicKey === undefined);
    expect(entry).toEqual({ nodeID: keyless, publicKey: undefined, weight: 60n });
  });

  test('holds the inactive one, and nonces', () => {
    const byNode = new Map(model.l1Validators().map((validator) => [validator.nodeID as string, validator]));
    expect(byNode.get(inactive)).toMatchObject({ isActive: false, minNonce: 0n });
    expect(byNode.get(l1Only)).toMatchObject({ isActive: true, minNonce: 2n, weight: 350n });
    expect(byNode.has(removed)).toBe(false);
  });

  test('can reach two thirds at both heights with the nodes that run', () => {
    for (const height of [model.l1.olderHeight, model.height()]) {
      const set = model.validatorsAt(model.l1.subnetID, height);
      const running = set.filter(({ nodeID }) => nodeID !== inactive && nodeID !== keyless);
      expect(isQuorumReached(67n, totalOf(running), totalOf(set))).toBe(true);
    }
  });
});

test('a block is accepted every ten seconds, and one below it proposed', async () => {
  const clock = new FakeClock();
  const model = testModel(clock);
  expect([model.height(), model.proposedHeight()]).toEqual([200n, 199n]);
  await clock.advance(9_999);
  expect(model.height()).toBe(200n);
  await clock.advance(1);
  expect([model.height(), model.proposedHeight()]).toEqual([201n, 200n]);
});

describe('the primary network', () => {
  const model = testModel();

  test('is the same at every height, with a validator without a key', () => {
    const set = model.validatorsAt(PRIMARY_NETWORK_ID, 0n);
    expect(set.map(({ nodeID }) => nodeID)).toEqual([1, 2, 3, 4, 5].map((index) => modelNode(index).nodeID));
    expect(set.flatMap(({ publicKey }, index) => (publicKey === undefined ? [index] : []))).toEqual([4]);
    expect(model.validatorsAt(PRIMARY_NETWORK_ID, 200n)).toEqual(set);
  });

  test.each([3, 5, 6, 20, 101])('has uneven weights beyond 2^53 in sum, at %i validators', (count) => {
    const nodes = Array.from({ length: count }, (_, index) => modelNode(index));
    const options = { seed: 7, clock: new FakeClock(), l1OnlyNodes: nodes, inactiveNode: modelNode(200) };
    const weights = createNetworkModel({ ...options, primaryNodes: nodes }).primaryValidators.map(
      ({ weight }) => weight,
    );
    const total = weights.reduce((sum, weight) => sum + weight);
    const heaviest = weights.reduce((max, weight) => (weight > max ? weight : max));
    expect(new Set(weights).size).toBe(count);
    expect(total > BigInt(Number.MAX_SAFE_INTEGER) / 2n).toBe(true);
    if (count >= 5) expect(isQuorumReached(67n, total - heaviest, total)).toBe(true);
  });
});

test('knows which subnet validates which chain', () => {
  const model = testModel();
  for (const chain of [P_CHAIN_ID, model.xChainID, model.cChain.blockchainID]) {
    expect(model.validatedBy(chain)).toBe(PRIMARY_NETWORK_ID);
  }
  expect(model.validatedBy(model.l1.blockchainID)).toBe(model.l1.subnetID);
  expect(model.validatedBy(model.l1.subnetID as string as BlockchainID)).toBeUndefined();
  expect(model.conversionID(model.l1.subnetID)).toEqual(conversionID(model.l1.conversion));
  expect(model.conversionID(PRIMARY_NETWORK_ID)).toBeUndefined();
});
