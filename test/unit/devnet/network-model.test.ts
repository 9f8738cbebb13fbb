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

  const founders = { [first]: 100n, [l1Only]: 100n, [removed]: 100n, [inactive]: 60n, [third]: 150n };
  const last = { [first]: 100n, [l1Only]: 350n, [keyless]: 60n, [third]: 150n, [registered]: 250n };
  const before = { [first]: 100n, [l1Only]: 350n, [inactive]: 60n, [third]: 150n, [registered]: 250n };

  test.each([
    [99n, {}],
    [100n, founders],
    [119n, founders],
    [120n, { ...founders, [registered]: 250n }],
    [140n, { ...founders, [l1Only]: 350n, [registered]: 250n }],
    [164n, before],
    [165n, { ...before, [removed]: 40n }],
    [180n, last],
    [10n ** 18n, last],
  ])('%i', (height, expected) => {
    expect(at(height)).toEqual(expected);
  });

  test('holds the inactive validator, and nonces', () => {
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

test('the primary network is the same at every height, with a validator without a key', () => {
  const model = testModel();
  const set = model.validatorsAt(PRIMARY_NETWORK_ID, 0n);
  expect(set.map(({ nodeID, publicKey }) => [nodeID, publicKey === undefined])).toEqual(
    [1, 2, 3, 4, 5].map((index) => [modelNode(index).nodeID, index === 5]),
  );
  expect(model.validatorsAt(PRIMARY_NETWORK_ID, 200n)).toEqual(set);
});

test.each([5, 101])('%i primary validators have different weights, and each is dispensable', (count) => {
  const nodes = Array.from({ length: count }, (_, index) => modelNode(index));
  const options = { seed: 7, clock: new FakeClock(), l1OnlyNodes: nodes, inactiveNode: modelNode(200) };
  const { primaryValidators } = createNetworkModel({ ...options, primaryNodes: nodes });
  const total = totalOf(primaryValidators);
  expect(new Set(primaryValidators.map(({ weight }) => weight)).size).toBe(count);
  expect(total > BigInt(Number.MAX_SAFE_INTEGER) / 2n).toBe(true);
  for (const { weight } of primaryValidators) expect(isQuorumReached(67n, total - weight, total)).toBe(true);
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
