import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConnectedWeight } from '../../../../src/aggregation/validators/connected-weight.ts';
import { createWarpSet, type WarpSet } from '../../../../src/validators/warp-set.ts';
import { type NodeID, nodeIDFromBytes } from '../../../../src/warp/ids.ts';

const NODES = 8;
const nodes = Array.from({ length: NODES }, (_, index) => nodeIDFromBytes(new Uint8Array(20).fill(index + 1)));
const node = fc.nat({ max: NODES - 1 });

/** Some of the nodes, with weights up to those of a chain; several may have one key, and some have none. */
const warpSet = fc
  .uniqueArray(
    fc.record({ node, key: fc.option(fc.nat({ max: 2 }), { nil: undefined }), weight: fc.bigInt(1n, 2n ** 60n) }),
    { selector: (validator) => validator.node, minLength: 4 },
  )
  .map((validators) =>
    createWarpSet(
      validators.map(({ node: number, key, weight }) => ({
        ...{ nodeID: nodes[number] as NodeID, weight },
        publicKey: key === undefined ? undefined : Uint8Array.of(...new Uint8Array(47), key),
      })),
    ),
  );

type Step =
  | { readonly kind: 'connected' | 'closed' | 'nothing'; readonly node: number }
  | { readonly kind: 'read'; readonly subnet: number; readonly warpSet: WarpSet };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('connected', 'closed', 'nothing'), node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('read'), subnet: fc.nat({ max: 2 }), warpSet }) },
);

/** The sum over all validators. */
function plainSum({ validators }: WarpSet, isConnected: (nodeID: NodeID) => boolean): bigint {
  return validators.filter(({ nodeIDs }) => nodeIDs.some(isConnected)).reduce((sum, { weight }) => sum + weight, 0n);
}

test('is the plain sum after any connections, ends of them, and sets that are read, in several subnets', () => {
  fc.assert(
    fc.property(warpSet, fc.array(step, { minLength: 10, maxLength: 60 }), (firstSet, steps) => {
      const connected = new Set<NodeID>();
      const isConnected = (nodeID: NodeID): boolean => connected.has(nodeID);
      const subnets = new Map([[0, new ConnectedWeight(firstSet, isConnected)]]);
      for (const each of steps) {
        if (each.kind === 'read') {
          subnets.set(each.subnet, new ConnectedWeight(each.warpSet, isConnected));
        } else {
          const nodeID = nodes[each.node] as NodeID;
          if (each.kind === 'connected') connected.add(nodeID);
          if (each.kind === 'closed') connected.delete(nodeID);
          // Also without a change: failed dials call back too.
          for (const subnet of subnets.values()) subnet.look(nodeID);
        }
        for (const subnet of subnets.values()) expect(subnet.weight).toBe(plainSum(subnet.warpSet, isConnected));
      }
    }),
    { numRuns: 500 },
  );
});
