import { create as createMessage } from '@bufbuild/protobuf';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import { expect, it, test } from 'vitest';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import {
  compareNodeVersions,
  createHandshake,
  createOwnHandshakes,
  PLACEHOLDER_BLS_SIGNATURE,
  parseHandshake,
} from '../../../../src/p2p/connection/handshake.ts';
import { type Handshake, HandshakeSchema } from '../../../../src/p2p/gen/p2p_pb.js';
import { parseStakingCertificate } from '../../../../src/p2p/identity/certificate.ts';
import { createIdentity } from '../../../../src/p2p/identity/identity.ts';
import { parseMessage } from '../../../../src/p2p/wire/messages.ts';
import { signAddress } from '../../../../src/p2p/wire/signed-address.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { readPeerTranscript } from '../../../vectors/vectors.ts';

const { frames, serverCertificate, clientCertificate } = readPeerTranscript();

test.each([
  ['in', serverCertificate, 29_651],
  ['out', clientCertificate, 39_999],
] as const)('the handshake of a real session passes: %s', (direction, certificate, port) => {
  const handshake = frames
    .filter((frame) => frame.direction === direction)
    .map((frame) => parseMessage(frame.bytes))
    .find((message) => message.case === 'handshake')?.value as Handshake;
  const nowMs = Number(handshake.myTime) * 1000;
  const expected = { networkID: 12_345, nowMs, certificate: parseStakingCertificate(certificate) };
  expect(parseHandshake(handshake, expected)).toMatchObject({
    clientName: 'avalanchego',
    version: { major: 1, minor: 14, patch: 2 },
    address: { host: '127.0.0.1', port },
  });
});

const nowMs = 1_795_251_381_500;
const identity = createIdentity();
const unsigned = { host: '0.0.0.0', port: 1, timestamp: BigInt(Math.floor(nowMs / 1000)) };
const ours = createMessage(
  HandshakeSchema,
  createHandshake({
    networkID: 5,
    nowMs,
    version: { major: 1, minor: 14, patch: 2 },
    clientName: 'avalanchego',
    address: signAddress(identity, unsigned),
    blsSignature: PLACEHOLDER_BLS_SIGNATURE,
    trackedSubnets: [],
    knownPeers: { filter: Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), salt: new Uint8Array(32) },
    allSubnets: true,
  }),
);
const expected = { networkID: 5, nowMs, certificate: identity.certificate };

it('our handshake passes the checks of a node', () => {
  expect(parseHandshake(ours, expected)).toMatchObject({ address: unsigned, allSubnets: true });
  // Nodes decode it: it must be on the curve, in its subgroup and not the point at infinity.
  const signature = bls12_381.longSignatures.Signature.fromBytes(ours.ipBlsSig);
  signature.assertValidity();
  expect([signature.isTorsionFree(), signature.is0()]).toEqual([true, false]);
});

const refused: readonly [string, Partial<Handshake>, RegExp][] = [
  ['another network', { networkId: 1 }, /network 1, ours is 5/],
  ['a clock behind', { myTime: ours.myTime - 62n }, /clock that is -62 s off/],
  ['a clock ahead', { myTime: 2n ** 64n - 1n }, /clock/],
  ['no address', { ipAddr: new Uint8Array(5) }, /4 or 16 bytes/],
  ['another port than signed', { ipPort: 2 }, /not signed/],
  ['too many subnets', { trackedSubnets: new Array<Uint8Array>(17).fill(new Uint8Array(32)) }, /17 subnets/],
  ['a short subnet ID', { trackedSubnets: [new Uint8Array(31)] }, /32 bytes/],
  ['contradicting proposals', { supportedAcps: [1, 2], objectedAcps: [2] }, /same proposal/],
  ['a short BLS signature', { ipBlsSig: new Uint8Array(95) }, /95 bytes/],
];
it.each(refused)('our handshake would be refused with %s', (_, change, reason) => {
  const parse = () => parseHandshake({ ...ours, ...change }, expected);
  expect(parse).toThrow(ParseError);
  expect(parse).toThrow(reason);
});

it('our handshake would be refused with a broken filter or a long salt, but not without one', () => {
  const parseWith = (filter: Uint8Array, saltLength: number) =>
    parseHandshake(
      { ...ours, knownPeers: { $typeName: 'p2p.BloomFilter', filter, salt: new Uint8Array(saltLength) } },
      expected,
    );
  expect(() => parseWith(new Uint8Array(0), 0)).toThrow(ParseError);
  expect(() => parseWith(ours.knownPeers?.filter ?? new Uint8Array(), 33)).toThrow('33 bytes');
  expect(parseHandshake({ ...ours, knownPeers: undefined }, expected).address).toEqual(unsigned);
});

it('our handshake may name 16 subnets', () => {
  const trackedSubnets = new Array<Uint8Array>(16).fill(new Uint8Array(32));
  expect(parseHandshake({ ...ours, trackedSubnets }, expected)).toMatchObject({ trackedSubnets });
});

it('versions are ordered by major, minor, patch', () => {
  const version = (major: number, minor: number, patch: number) => ({ major, minor, patch });
  expect(compareNodeVersions(version(1, 14, 2), version(1, 14, 2))).toBe(0);
  expect(compareNodeVersions(version(1, 13, 5), version(1, 14, 0))).toBeLessThan(0);
  expect(compareNodeVersions(version(2, 0, 0), version(1, 99, 0))).toBeGreaterThan(0);
});

it('our address is signed once, and again after the clock was set back', async () => {
  let aheadMs = 3_600_000;
  const fake = new FakeClock();
  const identity = createIdentity();
  const own = createOwnHandshakes({ identity, networkID: 5, clock: { now: () => fake.now() + aheadMs } });
  const create = (): Handshake => {
    const knownPeers = { filter: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0, 0), salt: new Uint8Array(32) };
    const { message } = own({ major: 1, minor: 14, patch: 2 }, knownPeers);
    if (message.case !== 'handshake') throw new Error(`made a ${message.case}`);
    return createMessage(HandshakeSchema, message.value);
  };
  const first = create();
  await fake.advance(1_000);
  expect(create().ipNodeIdSig).toBe(first.ipNodeIdSig);

  aheadMs = 0;
  const again = create();
  const expected = { networkID: 5, nowMs: fake.now(), certificate: identity.certificate };
  expect(parseHandshake(again, expected).address.timestamp).toBe(BigInt(fake.now() / 1_000));
  expect(create().ipNodeIdSig).toBe(again.ipNodeIdSig);
});
