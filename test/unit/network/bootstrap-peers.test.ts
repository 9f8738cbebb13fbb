import { expect, test } from 'vitest';
import { findBootstrapPeers } from '../../../src/network/bootstrap-peers.ts';
import type { NodeID } from '../../../src/warp/ids.ts';

const never = new AbortController().signal;
const OWN = { nodeID: 'NodeID-own' as NodeID, host: '5.6.7.8', port: 9651 };
const byHand = { nodeID: 'NodeID-hand' as NodeID, host: '1.2.3.4', port: 9651 };
const peer = { ...byHand, nodeID: 'NodeID-peer' as NodeID };
const ANSWERS = { getPeers: async () => [peer], getNodeID: async () => OWN.nodeID, getNodeIP: async () => OWN };
const noAnswer = () => Promise.reject(new Error('no answer'));

test('configured peers come first, then those of the node, then the node itself', async () => {
  expect(await findBootstrapPeers(ANSWERS, [byHand], never)).toEqual([byHand, peer, OWN]);
});

test.each(['getNodeID', 'getNodeIP'])('where %s fails, only the node itself is missing', async (method) => {
  expect(await findBootstrapPeers({ ...ANSWERS, [method]: noAnswer }, [byHand], never)).toEqual([byHand, peer]);
});

test('without the peers of the node, the others are returned', async () => {
  const api = { ...ANSWERS, getPeers: noAnswer };
  expect(await findBootstrapPeers(api, [byHand], never)).toEqual([byHand, OWN]);
});

test('an API without responses is an error, unless there are configured peers', async () => {
  const api = { getPeers: noAnswer, getNodeID: noAnswer, getNodeIP: noAnswer };
  await expect(findBootstrapPeers(api, [], never)).rejects.toThrow('no answer');
  expect(await findBootstrapPeers(api, [byHand], never)).toEqual([byHand]);
  expect(await findBootstrapPeers({ ...ANSWERS, getPeers: async () => [] }, [], never)).toEqual([OWN]);
});
