import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConnectedWeight } from '../../../../src/aggregation/validators/connected-weight.ts';
import { createWarpSet, type WarpSet } from '../../../../src/validators/warp-set.ts';
import { type NodeID, nodeIDFromBytes } from '../../../../src/warp/ids.ts';

const nodes = Array.from({ length: 8 }, (_, index) => nodeIDFromBytes(new Uint8Array(20).fill(index + 1)));
const nodeID = fc.constantFrom(...nodes);

/** Some of the nodes, with weights up to those of a chain; several may have one key, and some have none. */
const warpSet = fc
  .uniqueArray(
    fc.record({ nodeID, key: fc.option(fc.nat({ max: 2 }), { nil: undefined }), weight: fc.bigInt(1n, 2n ** 60n) }),
    { selector: (validator) => validator.nodeID, minLength: 4 },
  )
  .map((validators) =>
    createWarpSet(
      validators.map(({ key, ...rest }) => ({
        ...rest,
        publicKey: key === undefined ? undefined : Uint8Array.of(...new Uint8Array(47), key),
      })),
    ),
  );

/** The sum over all validators. */
function plainSum({ validators }: WarpSet, isConnected: (nodeID: NodeID) => boolean): bigint {
  return validators.filter(({ nodeIDs }) => nodeIDs.some(isConnected)).reduce((sum, { weight }) => sum + weight, 0n);
}

test('is the plain sum, at first and after any changes of connections', () => {
  const changes = fc.array(fc.record({ nodeID, isConnected: fc.boolean() }), { maxLength: 60 });
  fc.assert(
    fc.property(warpSet, fc.subarray(nodes), changes, (set, connectedFirst, changes) => {
      const connected = new Set<NodeID>(connectedFirst);
      const isConnected = (nodeID: NodeID): boolean => connected.has(nodeID);
      const subject = new ConnectedWeight(set, isConnected);
      expect(subject.weight).toBe(plainSum(set, isConnected));
      for (const { nodeID, ...change } of changes) {
        if (change.isConnected) connected.add(nodeID);
        else connected.delete(nodeID);
        // Also without a change: failed dials call back too.
        subject.look(nodeID);
        expect(subject.weight).toBe(plainSum(set, isConnected));
      }
    }),
    { numRuns: 500 },
  );
});
