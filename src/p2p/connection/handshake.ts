import type { MessageInitShape } from '@bufbuild/protobuf';
import { hexToBytes } from '@noble/hashes/utils.js';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { copyStart } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import { ID_LENGTH } from '../../warp/ids.ts';
import type { BloomFilter as BloomFilterMessage, Handshake, HandshakeSchema } from '../gen/p2p_pb.js';
import type { StakingCertificate } from '../identity/certificate.ts';
import type { Identity } from '../identity/identity.ts';
import { BloomFilter, MAX_SALT_LENGTH } from '../wire/bloom-filter.ts';
import { ipAddressBytes, ipAddressFromBytes } from '../wire/ip-address.ts';
import type { PeerMessageInit } from '../wire/messages.ts';
import {
  MAX_CLOCK_DIFFERENCE_MS,
  type NodeAddress,
  parsePort,
  type SignedAddress,
  signAddress,
  verifyAddressSignature,
} from '../wire/signed-address.ts';

const WHAT = 'Handshake';
/** avalanchego `network/peer/peer.go`. */
const MAX_TRACKED_SUBNETS = 16;
/** In characters; the peer chooses the name, which otherwise only the frame bounds. */
const MAX_CLIENT_NAME_LENGTH = 64;

/**
 * BLS signature of an address by a discarded key. Nodes require a point that decodes, and verify it only for validators. Signing would
 * take 10 to 50 ms of each start.
 */
export const PLACEHOLDER_BLS_SIGNATURE = hexToBytes(
  'a37f5ef38f3ce4636c016f3c95309cc469cac1bddec8f0121fa94b55a3644ba5fd7744d1f9663ec956e4924cde2eda5e' +
    '12972827a0c4f1f2fa0d88977130920c1798b4333318945ef2c764edd07bef028129479b5621b3f090ee299f827ff117',
);

/** Software version of a node, for example `avalanchego/1.14.2`. */
export interface NodeVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Bloom filter of known addresses, and the salt of its hashes. */
export interface KnownPeers {
  readonly filter: Uint8Array;
  readonly salt: Uint8Array;
}

interface HandshakeFields {
  readonly networkID: number;
  readonly nowMs: number;
  readonly version: NodeVersion;
  readonly clientName: string;
  readonly address: SignedAddress;
  readonly blsSignature: Uint8Array;
  readonly trackedSubnets: readonly Uint8Array[];
  readonly knownPeers: KnownPeers;
  readonly allSubnets: boolean;
}

/** Creates the Handshake of either side. Both signatures in it are made before, once. */
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
    knownPeers: fields.knownPeers,
    ipBlsSig: fields.blsSignature,
    allSubnets: fields.allSubnets,
  };
}

/** Checked Handshake of a peer. */
export interface PeerHandshake {
  readonly clientName: string;
  readonly version: NodeVersion;
  readonly address: NodeAddress;
  readonly trackedSubnets: readonly Uint8Array[];
  /** Undefined if the peer sent no filter, because it knows no addresses. */
  readonly knownPeers: ParsedKnownPeers | undefined;
  readonly allSubnets: boolean;
  /** Clock of the peer less ours; the peer sends whole seconds. */
  readonly clockOffsetMs: number;
}

/** Part that is kept for the duration of a connection. The rest may take 256 KB for each of thousands of peers. */
export type PeerIntroduction = Pick<PeerHandshake, 'clientName' | 'version' | 'address' | 'clockOffsetMs'>;

/** The Handshake belongs to another network. */
export class OtherNetwork extends ParseError {}

/** The clocks differ by more than nodes tolerate. */
export class ClockDifference extends ParseError {
  /** Clock of the peer less ours. */
  readonly offsetMs: number;

  constructor(offsetMs: number) {
    super(WHAT, `shows a clock that is ${Math.round(offsetMs / 1000)} s off ours`);
    this.offsetMs = offsetMs;
  }
}

/**
 * Checks a peer's Handshake like the reference node (avalanchego `network/peer/peer.go`), with two exceptions: the caller compares
 * versions, and only the length of the BLS signature is checked, because decoding a point of G2 takes milliseconds.
 *
 * @param expected `certificate` is the one from TLS
 * @throws {ParseError} with a reason for operators
 */
export function parseHandshake(
  handshake: Handshake,
  expected: { networkID: number; nowMs: number; certificate: StakingCertificate },
): PeerHandshake {
  if (handshake.networkId !== expected.networkID) {
    throw new OtherNetwork(WHAT, `belongs to network ${handshake.networkId}, ours is ${expected.networkID}`);
  }
  const clockDifferenceMs = Number(handshake.myTime) * 1000 - expected.nowMs;
  // The peer sends whole seconds.
  if (Math.abs(clockDifferenceMs) > MAX_CLOCK_DIFFERENCE_MS + 1000) {
    throw new ClockDifference(clockDifferenceMs);
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
    clockOffsetMs: clockDifferenceMs,
  };
}

export function formatVersion({ major, minor, patch }: NodeVersion): string {
  return `${major}.${minor}.${patch}`;
}

/** Negative, zero or positive. */
export function compareNodeVersions(a: NodeVersion, b: NodeVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

export interface ParsedKnownPeers {
  readonly filter: BloomFilter;
  readonly salt: Uint8Array;
}

/** @throws {ParseError} for a filter that makes nodes disconnect the sender */
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

/** Software name in our Handshake; nodes do not check it. */
const CLIENT_NAME = 'avalanchego';
/** We accept no connections. Nodes do not pass on this address. */
const OWN_ADDRESS = { host: '0.0.0.0', port: 1 };

export interface OwnHandshake {
  readonly message: PeerMessageInit;
  readonly version: NodeVersion;
}

interface OwnHandshakeOptions {
  readonly identity: Identity;
  readonly networkID: number;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Creates our Handshake for one connection, with the current time.
 *
 * @param knownPeers addresses that the peer does not have to send
 */
export type CreateOwnHandshake = (version: NodeVersion, knownPeers: KnownPeers) => OwnHandshake;

/** Signing the address takes milliseconds, so it is done once for all Handshakes. */
export function createOwnHandshakes({ identity, networkID, clock }: OwnHandshakeOptions): CreateOwnHandshake {
  const nowSeconds = (): bigint => BigInt(Math.floor(clock.now() / 1000));
  const createAddress = (): SignedAddress => signAddress(identity, { ...OWN_ADDRESS, timestamp: nowSeconds() });
  let address = createAddress();
  return (version, knownPeers) => {
    // The clock was set back after a start with a wrong time: nodes refuse an address that is more than a minute ahead of theirs.
    if (address.timestamp > nowSeconds()) address = createAddress();
    const value = createHandshake({
      networkID,
      version,
      knownPeers,
      address,
      nowMs: clock.now(),
      clientName: CLIENT_NAME,
      blsSignature: PLACEHOLDER_BLS_SIGNATURE,
      trackedSubnets: [],
      allSubnets: true,
    });
    return { message: { case: 'handshake', value }, version };
  };
}
