import { expect, test } from 'vitest';
import { signersFor } from '../../../../../src/aggregation/signers/signing-rule.ts';
import type { Destination } from '../../../../../src/client/gen/api.ts';
import { type Acceptors, acceptorsOf, type MessageSource } from '../../../../../src/console/page/sign/acceptance.ts';
import {
  type BlockchainID,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
} from '../../../../../src/warp/ids.ts';

const chain = (byte: number) => idFromBytes<BlockchainID>(new Uint8Array(32).fill(byte), 'chain');
const subnet = (byte: number) => idFromBytes<SubnetID>(new Uint8Array(32).fill(byte), 'subnet');
const C_CHAIN = chain(1);
const [L1, OTHER_L1] = [subnet(2), subnet(3)];
const SUBNETS = { primary: PRIMARY_NETWORK_ID, 'the L1': L1, 'another L1': OTHER_L1 };
type Signers = keyof typeof SUBNETS;

const SOURCES = {
  'P-Chain': { id: P_CHAIN_ID, subnetId: PRIMARY_NETWORK_ID, kind: 'p_chain' },
  'C-Chain': { id: C_CHAIN, subnetId: PRIMARY_NETWORK_ID, kind: 'c_and_x_chain' },
  L1: { id: chain(4), subnetId: L1, kind: 'other_chains' },
} as const;

/** Destinations by what their names in {@link Acceptors} stand for. */
const DESTINATIONS = [
  ['P-Chain', PRIMARY_NETWORK_ID, false],
  ['C-Chain', PRIMARY_NETWORK_ID, false],
  ['the L1', L1, false],
  ['the L1, strict', L1, true],
  ['another L1', OTHER_L1, false],
  ['another L1, strict', OTHER_L1, true],
] as const;

/** The destinations that accept these signers, by the rule of the aggregator. */
function acceptedBy(source: (typeof SOURCES)[keyof typeof SOURCES], signers: SubnetID): string[] {
  return DESTINATIONS.filter(([, subnetID, requirePrimaryNetworkSigners]) => {
    const config = { isEnabled: true, quorumNum: 67n, requirePrimaryNetworkSigners };
    const facts = { subnetID, warp: { kind: 'read', config } as const };
    const ruled = signersFor({ sourceChainID: source.id, sourceSubnetID: source.subnetId }, facts);
    return ruled?.signingSubnetID === signers;
  }).map(([name]) => name);
}

const ALL = DESTINATIONS.map(([name]) => name);
const STRICT = ['the L1, strict', 'another L1, strict'];

test.each<[keyof typeof SOURCES, Signers | '', Acceptors, readonly string[]]>([
  ['L1', '', 'all', ALL],
  ['L1', 'the L1', 'all', ALL],
  ['L1', 'another L1', 'none', []],
  ['L1', 'primary', 'none', []],
  ['C-Chain', '', 'primary', ['P-Chain', 'C-Chain', ...STRICT]],
  ['C-Chain', 'primary', 'primary', ['P-Chain', 'C-Chain', ...STRICT]],
  ['C-Chain', 'the L1', 'signing_subnet', ['the L1']],
  // The P-Chain takes no message of its own.
  ['P-Chain', '', 'c_chain', ['P-Chain', 'C-Chain']],
  ['P-Chain', 'the L1', 'signing_subnet', ['the L1', 'the L1, strict']],
])('a message of the %s with signers "%s" is accepted by: %s', (name, signers, acceptors, accepting) => {
  const source = SOURCES[name];
  const namedSubnetId = signers === '' ? '' : SUBNETS[signers];
  const signing = { source, namedSubnetId, hasDestination: false, destination: undefined };
  expect(acceptorsOf(signing)).toBe(acceptors);
  expect(acceptedBy(source, namedSubnetId || source.subnetId)).toEqual(accepting);
});

test('signers of a source that is not known may be accepted, but no L1 message is accepted from the primary network', () => {
  const none = { hasDestination: false, destination: undefined };
  expect(acceptorsOf({ ...none, source: undefined, namedSubnetId: L1 })).toBe('unknown');
  const source: MessageSource = { kind: 'other_chains', subnetId: undefined };
  expect(acceptorsOf({ ...none, source, namedSubnetId: '' })).toBe('all');
  expect(acceptorsOf({ ...none, source, namedSubnetId: L1 })).toBe('unknown');
  expect(acceptorsOf({ ...none, source, namedSubnetId: PRIMARY_NETWORK_ID })).toBe('none');
});

test('a destination accepts the signers that it names, and no named ones are those', () => {
  const source: MessageSource = { kind: 'c_and_x_chain', subnetId: PRIMARY_NETWORK_ID };
  const signers = [
    { sources: 'c_and_x_chain', signingRule: 'destination_subnet', signingSubnetId: L1 },
    { sources: 'other_chains', signingRule: 'source_subnet' },
  ];
  const destination = { signers } as unknown as Destination;
  const signing = { source, hasDestination: true, destination };
  expect(acceptorsOf({ ...signing, namedSubnetId: '' })).toBe('destination');
  expect(acceptorsOf({ ...signing, namedSubnetId: L1 })).toBe('destination');
  expect(acceptorsOf({ ...signing, namedSubnetId: PRIMARY_NETWORK_ID })).toBe('none');
  const ofL1: MessageSource = { kind: 'other_chains', subnetId: OTHER_L1 };
  expect(acceptorsOf({ ...signing, source: ofL1, namedSubnetId: OTHER_L1 })).toBe('destination');
  expect(acceptorsOf({ ...signing, source: ofL1, namedSubnetId: L1 })).toBe('none');
  // Its warp config decides, and cannot be read.
  const unreadable = { signers: [{ sources: 'c_and_x_chain' }] } as unknown as Destination;
  expect(acceptorsOf({ ...signing, destination: unreadable, namedSubnetId: L1 })).toBe('unknown');
  expect(acceptorsOf({ ...signing, destination: undefined, namedSubnetId: L1 })).toBeUndefined();
});
