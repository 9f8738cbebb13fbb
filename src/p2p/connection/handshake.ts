import { type MessageInitShape } from '@bufbuild/protobuf';
import { hexToBytes } from '@noble/hashes/utils.js';
import { copyStart } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { ID_LENGTH } from '../../warp/ids.ts';
import type {
  BloomFilter as BloomFilterMessage,
  BloomFilterSchema,
  Handshake,
  HandshakeSchema,
} from '../gen/p2p_pb.js';
import type { StakingCertificate } from '../identity/certificate.ts';
import { BloomFilter, MAX_SALT_LENGTH } from '../wire/bloom-filter.ts';
import { ipAddressBytes, ipAddressFromBytes } from '../wire/ip-address.ts';
import {
  MAX_CLOCK_DIFFERENCE_MS,
  type NodeAddress,
  parsePort,
  type SignedAddress,
  verifyAddressSignature,
} from '../wire/signed-address.ts';

const WHAT = 'Handshake';
/** avalanchego `network/peer/peer.go`. */
const MAX_TRACKED_SUBNETS = 16;
/** Characters kept of the name of a peer's software, which the peer chooses: otherwise only the frame bounds it. */
const MAX_CLIENT_NAME_LENGTH = 64;
/** A compressed point of G2. */
const BLS_SIGNATURE_LENGTH = 96;

/**
 * The BLS signature beside an address, of whoever has no BLS key: some address, signed with a key that nobody kept. It must decode, but
 * nodes compare only that of a validator with a key they know. To sign takes a library for it, and 10 to 50 ms of each start.
 */
export const BLS_SIGNATURE_OF_NOBODY = hexToBytes(
  'a37f5ef38f3ce4636c016f3c95309cc469cac1bddec8f0121fa94b55a3644ba5fd7744d1f9663ec956e4924cde2eda5e' +
    '12972827a0c4f1f2fa0d88977130920c1798b4333318945ef2c764edd07bef028129479b5621b3f090ee299f827ff117',
);

/** A version of the node's software, as in `avalanchego/1.14.2`. */
export interface NodeVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** A filter of known addresses together with the salt its hashes were made with. */
export interface KnownPeers {
  readonly filter: Uint8Array;
  readonly salt: Uint8Array;
}

export interface HandshakeFields {
  readonly networkID: number;
  readonly nowMs: number;
  readonly version: NodeVersion;
  readonly clientName: string;
  readonly address: SignedAddress;
  /** The address signed with a BLS key: see {@link signAddressWithBls}. */
  readonly blsSignature: Uint8Array;
  readonly trackedSubnets: readonly Uint8Array[];
  readonly knownPeers: KnownPeers;
  readonly allSubnets: boolean;
}

/** Either side's Handshake. Cheap, as the two signatures in it are made once, before. */
export function createHandshake(fields: HandshakeFields): MessageInitShape<typeof HandshakeSchema> {
  const nowSeconds = BigInt(Math.floor(fields.nowMs / 1000));
  return {
    networkId: fields.networkID,
    myTime: nowSeconds,
    ipAddr: ipAddressBytes(fields.address.host),
    ipPort: fields.address.port,
    upgradeTime: 0n,
    ipSigningTime: fields.address.timestamp,
    ipNodeIdSig: fields.address.signature,
    trackedSubnets: [...fields.trackedSubnets],
    client: { name: fields.clientName, ...fields.version },
    knownPeers: encodeKnownPeers(fields.knownPeers),
    ipBlsSig: fields.blsSignature,
    allSubnets: fields.allSubnets,
  };
}

/** What a peer's Handshake says, once it is checked. */
export interface PeerHandshake {
  readonly clientName: string;
  readonly version: NodeVersion;
  readonly address: NodeAddress;
  readonly trackedSubnets: readonly Uint8Array[];
  /** Undefined where the peer sent no filter: it knows nobody. */
  readonly knownPeers: ParsedKnownPeers | undefined;
  readonly allSubnets: boolean;
}

/** What is kept of it as long as the connection lasts. The rest may have a quarter of a megabyte, of each of thousands of peers. */
export type PeerIntroduction = Pick<PeerHandshake, 'clientName' | 'version' | 'address'>;

/**
 * Checks a peer's Handshake as the reference node does (avalanchego `network/peer/peer.go`), with two exceptions: the
 * caller judges whether the versions fit, and of the BLS signature only the length is checked, since decoding a point of G2
 * takes milliseconds and only a validator set could tell whose it should be.
 *
 * @param certificate the one the peer showed in TLS
 * @throws {ParseError} with a reason that tells an operator what is wrong
 */
export function parseHandshake(
  handshake: Handshake,
  expected: { networkID: number; nowMs: number; certificate: StakingCertificate },
): PeerHandshake {
  if (handshake.networkId !== expected.networkID) {
    throw new ParseError(WHAT, `is of network ${handshake.networkId}, ours is ${expected.networkID}`);
  }
  const clockDifferenceMs = Number(handshake.myTime) * 1000 - expected.nowMs;
  // The peer's clock comes in whole seconds, ours does not.
  if (Math.abs(clockDifferenceMs) > MAX_CLOCK_DIFFERENCE_MS + 1000) {
    throw new ParseError(WHAT, `shows a clock that is ${Math.round(clockDifferenceMs / 1000)} s off ours`);
  }
  if (handshake.trackedSubnets.length > MAX_TRACKED_SUBNETS) {
    throw new ParseError(
      WHAT,
      `tracks ${handshake.trackedSubnets.length} subnets, at most ${MAX_TRACKED_SUBNETS} are allowed`,
    );
  }
  if (handshake.trackedSubnets.some((subnet) => subnet.length !== ID_LENGTH)) {
    throw new ParseError(WHAT, `tracks a subnet whose ID does not have ${ID_LENGTH} bytes`);
  }
  const objected = new Set(handshake.objectedAcps);
  if (handshake.supportedAcps.some((acp) => objected.has(acp))) {
    throw new ParseError(WHAT, 'both supports and objects to the same proposal');
  }
  if (handshake.ipBlsSig.length !== BLS_SIGNATURE_LENGTH) {
    throw new ParseError(
      WHAT,
      `has a BLS signature of ${handshake.ipBlsSig.length} bytes, not ${BLS_SIGNATURE_LENGTH}`,
    );
  }
  const address: NodeAddress = {
    host: ipAddressFromBytes(handshake.ipAddr),
    port: parsePort(handshake.ipPort),
    timestamp: handshake.ipSigningTime,
  };
  verifyAddressSignature(address, handshake.ipNodeIdSig, expected.certificate, expected.nowMs);
  const { client } = handshake;
  return {
    clientName: copyStart(client?.name ?? '', MAX_CLIENT_NAME_LENGTH),
    version: { major: client?.major ?? 0, minor: client?.minor ?? 0, patch: client?.patch ?? 0 },
    address,
    trackedSubnets: handshake.trackedSubnets,
    knownPeers: handshake.knownPeers === undefined ? undefined : parseKnownPeers(handshake.knownPeers),
    allSubnets: handshake.allSubnets,
  };
}

/** Negative, zero or positive, as versions are ordered. */
export function compareNodeVersions(a: NodeVersion, b: NodeVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

export interface ParsedKnownPeers {
  readonly filter: BloomFilter;
  readonly salt: Uint8Array;
}

/** @throws {ParseError} where a node would disconnect us for it */
export function parseKnownPeers(message: BloomFilterMessage | undefined): ParsedKnownPeers {
  if (message === undefined) throw new ParseError(WHAT, 'has no bloom filter');
  if (message.salt.length > MAX_SALT_LENGTH) {
    throw new ParseError(
      'bloom filter',
      `has a salt of ${message.salt.length} bytes, at most ${MAX_SALT_LENGTH} are allowed`,
    );
  }
  return { filter: BloomFilter.parse(message.filter), salt: message.salt };
}

export function encodeKnownPeers(knownPeers: KnownPeers): MessageInitShape<typeof BloomFilterSchema> {
  return { filter: knownPeers.filter, salt: knownPeers.salt };
}
