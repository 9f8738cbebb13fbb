import { expect, test } from 'vitest';
import { chooseSigners, signersFor } from '../../../../src/aggregation/signers/signing-rule.ts';
import type { WarpReading } from '../../../../src/pchain/state/warp-configs.ts';
import {
  type BlockchainID,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
} from '../../../../src/warp/ids.ts';

const id = <T extends BlockchainID | SubnetID>(byte: number): T =>
  idFromBytes(new Uint8Array(32).fill(byte), 'id') as unknown as T;
const [C_CHAIN, L1_CHAIN, DESTINATION] = [id<BlockchainID>(1), id<BlockchainID>(2), id<BlockchainID>(3)];
const [SOURCE_L1, DESTINATION_L1] = [id<SubnetID>(4), id<SubnetID>(5)];

const read = (requirePrimaryNetworkSigners: boolean, quorumNum = 67n): WarpReading => ({
  kind: 'read',
  config: { isEnabled: true, quorumNum, requirePrimaryNetworkSigners },
});
const unreadable = (mayPass: boolean): WarpReading => ({ kind: 'unreadable', reason: 'HTTP status 404', mayPass });
const SOURCES = {
  p: { sourceChainID: P_CHAIN_ID, sourceSubnetID: PRIMARY_NETWORK_ID },
  c: { sourceChainID: C_CHAIN, sourceSubnetID: PRIMARY_NETWORK_ID },
  l1: { sourceChainID: L1_CHAIN, sourceSubnetID: SOURCE_L1 },
};
const to = (subnetID: SubnetID, warp: WarpReading) => ({ chainID: DESTINATION, subnetID, warp });
const NOTHING = { signingSubnetID: undefined, quorumNum: undefined };

/** `VerifyPredicate` of subnet-evm's `precompile/contracts/warp/config.go`, in its words. */
function verifyPredicate(source: (typeof SOURCES)['p'], receiving: SubnetID, requirePrimary: boolean): SubnetID {
  if (source.sourceSubnetID !== PRIMARY_NETWORK_ID) return source.sourceSubnetID;
  if (source.sourceChainID === P_CHAIN_ID || !requirePrimary) return receiving;
  return PRIMARY_NETWORK_ID;
}

test('the signers of each source for each destination are those that the reference verifies with', () => {
  for (const source of Object.values(SOURCES)) {
    for (const subnetID of [PRIMARY_NETWORK_ID, DESTINATION_L1, SOURCE_L1]) {
      for (const required of [true, false]) {
        const ruled = signersFor(source, to(subnetID, read(required)));
        expect(ruled?.signingSubnetID).toBe(verifyPredicate(source, subnetID, required));
        const unknown = signersFor(source, to(subnetID, unreadable(false)));
        const decides = source === SOURCES.c && subnetID !== PRIMARY_NETWORK_ID;
        expect(unknown?.signingSubnetID).toBe(decides ? undefined : ruled?.signingSubnetID);
      }
    }
  }
});

test.each([
  [SOURCES.l1, read(true), 'source_subnet'],
  [SOURCES.p, read(true), 'destination_subnet'],
  [SOURCES.c, read(false), 'destination_subnet'],
  [SOURCES.c, read(true), 'primary_network'],
] as const)('the rule has a name (%#)', (source, warp, rule) => {
  expect(chooseSigners(source, NOTHING, to(DESTINATION_L1, warp)).rule).toBe(rule);
});

test('what the request names takes precedence, each for itself', () => {
  const destination = to(DESTINATION_L1, read(false, 80n));
  expect(chooseSigners(SOURCES.c, NOTHING, destination)).toMatchObject({
    signingSubnetID: DESTINATION_L1,
    quorumNum: 80n,
  });
  expect(chooseSigners(SOURCES.c, { ...NOTHING, quorumNum: 50n }, destination)).toMatchObject({
    signingSubnetID: DESTINATION_L1,
    quorumNum: 50n,
  });
  const named = { ...NOTHING, signingSubnetID: SOURCE_L1 };
  expect(chooseSigners(SOURCES.c, named, destination)).toEqual({
    signingSubnetID: SOURCE_L1,
    quorumNum: 80n,
    rule: 'named',
  });
  expect(chooseSigners(SOURCES.c, named, to(DESTINATION_L1, unreadable(true)))).toMatchObject({ quorumNum: 67n });
});

test('without a destination the subnet of the source signs with 67 %', () => {
  expect(chooseSigners(SOURCES.l1, NOTHING, undefined)).toEqual({
    signingSubnetID: SOURCE_L1,
    quorumNum: 67n,
    rule: 'source_subnet',
  });
});

test.each([
  [true, 'chain_rpc_unavailable'],
  [false, 'invalid_request'],
])('a configuration that decides and cannot be read names both choices (may pass: %s)', (mayPass, code) => {
  const choose = () => chooseSigners(SOURCES.c, NOTHING, to(DESTINATION_L1, unreadable(mayPass)));
  expect(choose).toThrow(expect.objectContaining({ code, field: 'signingSubnetID' }));
  for (const text of [DESTINATION_L1, PRIMARY_NETWORK_ID, 'HTTP status 404']) expect(choose).toThrow(text);
});
