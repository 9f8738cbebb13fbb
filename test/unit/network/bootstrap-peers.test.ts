import { expect, test } from 'vitest';
import { findBootstrapPeers } from '../../../src/network/bootstrap-peers.ts';
import type { NodeID } from '../../../src/primitives/ids.ts';

const never = new AbortController().signal;
const PEER = { nodeID: 'NodeID-peer' as NodeID, host: '1.2.3.4', port: 9651 };

test('where one question about the node itself fails, the other is waited for, and the peers are there', async () => {
  const address = Promise.withResolvers<{ host: string; port: number }>();
  const api = {
    getPeers: async () => [PEER],
    getNodeID: () => Promise.reject(new Error('no answer')),
    getNodeIP: () => address.promise,
  };
  let found: readonly object[] | undefined;
  const finding = findBootstrapPeers(api, [], never).then((peers) => {
    found = peers;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(found).toBeUndefined();
  address.resolve({ host: '5.6.7.8', port: 9651 });
  await finding;
  expect(found).toEqual([PEER]);
});
