import { expect, test } from 'vitest';
import { beaconsOf } from '../../../src/network/beacons.ts';
import { type BootstrapSources, findBootstrapPeers } from '../../../src/network/bootstrap-peers.ts';
import { isPublicAddress } from '../../../src/p2p/wire/ip-address.ts';
import type { NodeID } from '../../../src/warp/ids.ts';
import { FUJI, MAINNET } from '../../../src/warp/networks.ts';

const never = new AbortController().signal;
const OWN = { nodeID: 'NodeID-own' as NodeID, host: '5.6.7.8', port: 9651 };
const byHand = { nodeID: 'NodeID-hand' as NodeID, host: '1.2.3.4', port: 9651 };
const peer = { ...byHand, nodeID: 'NodeID-peer' as NodeID };
const beacon = { ...byHand, nodeID: 'NodeID-beacon' as NodeID };
const ANSWERS = { getPeers: async () => [peer], getNodeID: async () => OWN.nodeID, getNodeIP: async () => OWN };
const noAnswer = () => Promise.reject(new Error('no answer'));

const find = (api: Partial<typeof ANSWERS> = {}, sources: Partial<BootstrapSources> = {}) =>
  findBootstrapPeers(
    { ...ANSWERS, ...api },
    { configured: [byHand], beacons: [], isStranded: false, ...sources },
    never,
  );

test('configured peers come first, then those of the node, then the node itself', async () => {
  expect(await find()).toEqual([byHand, peer, OWN]);
});

test.each(['getNodeID', 'getNodeIP'])('where %s fails, only the node itself is missing', async (method) => {
  expect(await find({ [method]: noAnswer })).toEqual([byHand, peer]);
});

test('without the peers of the node, the others are returned', async () => {
  expect(await find({ getPeers: noAnswer })).toEqual([byHand, OWN]);
});

test('an API without responses is an error, unless there are configured peers', async () => {
  const silent = { getPeers: noAnswer, getNodeID: noAnswer, getNodeIP: noAnswer };
  await expect(find(silent, { configured: [] })).rejects.toThrow('no answer');
  expect(await find(silent)).toEqual([byHand]);
  expect(await find({ getPeers: async () => [] }, { configured: [] })).toEqual([OWN]);
});

test('beacons are last, where the API lists no peers or no node was connected', async () => {
  const beacons = [beacon];
  expect(await find({}, { beacons })).toEqual([byHand, peer, OWN]);
  expect(await find({}, { beacons, isStranded: true })).toEqual([byHand, peer, OWN, beacon]);
  for (const getPeers of [noAnswer, async () => []]) {
    expect(await find({ getPeers }, { beacons })).toEqual([byHand, OWN, beacon]);
  }
  const silent = { getPeers: noAnswer, getNodeID: noAnswer, getNodeIP: noAnswer };
  expect(await find(silent, { beacons, configured: [] })).toEqual([beacon]);
});

test('the public networks have beacons with addresses that can be dialled', () => {
  for (const [{ networkID }, count] of [
    [MAINNET, 24],
    [FUJI, 21],
  ] as const) {
    const beacons = beaconsOf(networkID);
    expect(new Set(beacons.map(({ nodeID }) => nodeID)).size).toBe(count);
    expect(beacons.every(({ host }) => isPublicAddress(host))).toBe(true);
  }
  expect(beaconsOf(1337)).toEqual([]);
});
