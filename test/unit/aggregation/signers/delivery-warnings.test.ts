import { expect, test } from 'vitest';
import {
  type DeliveryTarget,
  deliveryWarnings,
  type EpochReading,
} from '../../../../src/aggregation/signers/delivery-warnings.ts';
import type { WarpReading } from '../../../../src/pchain/state/warp-configs.ts';
import { type BlockchainID, idFromBytes, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { OTHER_SUBNET, SUBNET } from '../aggregator-fixture.ts';
import { setOf } from '../collection/tally-fixture.ts';

const C_CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(7), 'chain');
const DESTINATION = idFromBytes<BlockchainID>(new Uint8Array(32).fill(8), 'chain');
const OPEN = { isEnabled: true, quorumNum: 67n, requirePrimaryNetworkSigners: false };
const UNREADABLE: WarpReading = { kind: 'unreadable', reason: 'HTTP status 404', mayPass: false };
const SET = setOf([40n, 30n, 30n]);
/** A message of the C-Chain that an L1 signed. */
const SIGNED = {
  sourceChainID: C_CHAIN,
  sourceSubnetID: PRIMARY_NETWORK_ID,
  signingSubnetID: SUBNET,
  pChainHeight: 100n,
  warpSet: SET,
  signedWeight: 70n,
};
const epochAt = (pChainHeight: bigint, setInEpoch: typeof SET | undefined): EpochReading => ({
  kind: 'read',
  epoch: { number: 4n, pChainHeight, startTime: 9n },
  setInEpoch,
});

function codes(more: Partial<typeof SIGNED>, warp: Partial<typeof OPEN> | WarpReading, epoch = epochAt(100n, SET)) {
  const reading: WarpReading = 'kind' in warp ? warp : { kind: 'read', config: { ...OPEN, ...warp } };
  const target: DeliveryTarget = { facts: { chainID: DESTINATION, subnetID: SUBNET, warp: reading }, epoch };
  return deliveryWarnings({ ...SIGNED, ...more }, target).map(({ code }) => code);
}

test('a message that the destination accepts has no warning', () => {
  expect(codes({}, {})).toEqual([]);
  expect(codes({ signingSubnetID: PRIMARY_NETWORK_ID }, { requirePrimaryNetworkSigners: true })).toEqual([]);
  expect(codes({ signedWeight: 67n }, {})).toEqual([]);
  expect(codes({}, {}, { kind: 'read', epoch: undefined, setInEpoch: undefined })).toEqual([]);
  expect(codes({}, {}, { kind: 'not_asked' })).toEqual([]);
});

test('signers whom the destination does not accept are named, and their set is not compared', () => {
  const other = epochAt(90n, setOf([1n]));
  expect(codes({ signingSubnetID: PRIMARY_NETWORK_ID }, {}, other)).toEqual(['signers_refused']);
  expect(codes({}, { requirePrimaryNetworkSigners: true }, other)).toEqual(['signers_refused']);
});

test('a configuration that cannot be read leaves the two possible signers open', () => {
  for (const signingSubnetID of [SUBNET, PRIMARY_NETWORK_ID]) {
    expect(codes({ signingSubnetID }, UNREADABLE)).toEqual(['config_unreadable']);
  }
  expect(codes({ signingSubnetID: OTHER_SUBNET }, UNREADABLE)).toEqual(['config_unreadable', 'signers_refused']);
});

test('the weight that signed must reach the quorum of the destination', () => {
  expect(codes({ signedWeight: 70n }, { quorumNum: 71n })).toEqual(['quorum_too_low']);
  expect(codes({ signedWeight: 71n }, { quorumNum: 71n })).toEqual([]);
});

test('a precompile that is not enabled accepts nothing', () => {
  expect(codes({}, { isEnabled: false })).toEqual(['warp_disabled']);
});

test('validators that differ from those of the epoch are noticed, whatever the heights', () => {
  expect(codes({}, {}, epochAt(90n, setOf([40n, 30n, 30n])))).toEqual([]);
  expect(codes({}, {}, epochAt(90n, setOf([40n, 30n, 31n])))).toEqual(['set_differs_from_epoch']);
  expect(codes({}, {}, epochAt(90n, setOf([])))).toEqual(['set_differs_from_epoch']);
});

test('at the height of the epoch the sets are the same, whether the one of the epoch was read or not', () => {
  expect(codes({}, {}, epochAt(100n, undefined))).toEqual([]);
});

test('an epoch that cannot be read or compared is said', () => {
  expect(codes({}, {}, { kind: 'unreadable' })).toEqual(['epoch_unreadable']);
  expect(codes({}, {}, epochAt(90n, undefined))).toEqual(['epoch_unreadable']);
});
