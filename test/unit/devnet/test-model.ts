import { createNetworkModel, type ModelNode, type NetworkModel } from '../../../src/devnet/network-model.ts';
import { nodeIDFromBytes } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** A node whose key is no point: the model never looks into it. */
export function modelNode(index: number): ModelNode {
  return { nodeID: nodeIDFromBytes(new Uint8Array(20).fill(index)), publicKey: new Uint8Array(48).fill(index) };
}

/** Nodes 1 to 5 validate the primary network, 6 and 7 the L1 alone, 8 ran out of balance. */
export function testModel(clock = new FakeClock(), executionLagMs = 0): NetworkModel {
  return createNetworkModel({
    seed: 1,
    clock,
    primaryNodes: [1, 2, 3, 4, 5].map(modelNode),
    l1OnlyNodes: [6, 7].map(modelNode),
    inactiveNode: modelNode(8),
    executionLagMs,
    keyless: new Set([modelNode(5).nodeID]),
  });
}
