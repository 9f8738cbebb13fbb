import { sign } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { ByteWriter } from '../../lib/encoding/byte-writer.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type NodeID, nodeIDFromCertificate } from '../../warp/ids.ts';
import type { ClaimedIpPort, ClaimedIpPortSchema } from '../gen/p2p_pb.js';
import {
  MAX_CERTIFICATE_LENGTH,
  parseStakingCertificate,
  type StakingCertificate,
  verifyStakingSignature,
} from '../identity/certificate.ts';
import type { Identity } from '../identity/identity.ts';
import { ipAddressBytes, ipAddressFromBytes } from './ip-address.ts';

/** How far ahead of our clock others may be (avalanchego `DefaultNetworkMaxClockDifference`). */
export const MAX_CLOCK_DIFFERENCE_MS = 60_000;
/** An RSA-4096 signature, the longest that a valid key makes. */
const MAX_SIGNATURE_LENGTH = 512;

/** Where a node says it listens. As the node has signed it, anyone can pass it on. */
export interface NodeAddress {
  /** Text of an IP address. */
  readonly host: string;
  readonly port: number;
  /** When the node signed it, in seconds since the Unix epoch. Of two addresses the later one holds. */
  readonly timestamp: bigint;
}

export interface SignedAddress extends NodeAddress {
  readonly nodeID: NodeID;
  /** DER. */
  readonly certificate: Uint8Array;
  readonly signature: Uint8Array;
}

/** What is signed: the IP as 16 bytes · `u16` port · `u64` timestamp (avalanchego `network/peer/ip.go`). */
export function encodeUnsignedAddress(address: NodeAddress): Uint8Array {
  return new ByteWriter().bytes(ipAddressBytes(address.host)).u16(address.port).u64(address.timestamp).finish();
}

/** Costs some milliseconds with an RSA key: sign once and keep it. */
export function signAddress(identity: Identity, address: NodeAddress): SignedAddress {
  return {
    ...address,
    nodeID: identity.nodeID,
    certificate: identity.certificate.der,
    signature: sign('sha256', encodeUnsignedAddress(address), identity.privateKey),
  };
}

/**
 * Reads an entry of a PeerList without checking its signature, which costs more than the rest: see
 * {@link verifySignedAddress}.
 *
 * @throws {ParseError}
 */
export function parseClaimedIpPort(claimed: ClaimedIpPort): SignedAddress {
  if (claimed.x509Certificate.length > MAX_CERTIFICATE_LENGTH) {
    throw new ParseError('ClaimedIpPort', `has a certificate above ${MAX_CERTIFICATE_LENGTH} bytes`);
  }
  return {
    host: ipAddressFromBytes(claimed.ipAddr),
    port: parsePort(claimed.ipPort),
    timestamp: claimed.timestamp,
    nodeID: nodeIDFromCertificate(claimed.x509Certificate),
    certificate: claimed.x509Certificate,
    signature: claimed.signature,
  };
}

/** The entry of a PeerList. */
export function encodeClaimedIpPort(address: SignedAddress): MessageInitShape<typeof ClaimedIpPortSchema> {
  return {
    x509Certificate: address.certificate,
    ipAddr: ipAddressBytes(address.host),
    ipPort: address.port,
    timestamp: address.timestamp,
    signature: address.signature,
    // Nobody has read it since the Durango upgrade, but the reference node still sends 32 zero bytes.
    txId: new Uint8Array(32),
  };
}

/** @throws {ParseError} where the node did not sign this address, or its time is more than a minute ahead of ours */
export function verifySignedAddress(address: SignedAddress, nowMs: number): void {
  verifyAddressSignature(address, address.signature, parseStakingCertificate(address.certificate), nowMs);
}

/** As {@link verifySignedAddress}, where the certificate is already at hand. */
export function verifyAddressSignature(
  address: NodeAddress,
  signature: Uint8Array,
  certificate: StakingCertificate,
  nowMs: number,
): void {
  if (address.timestamp > BigInt(Math.floor((nowMs + MAX_CLOCK_DIFFERENCE_MS) / 1000))) {
    throw new ParseError('signed address', `is dated ${address.timestamp}, more than a minute ahead`);
  }
  if (
    signature.length > MAX_SIGNATURE_LENGTH ||
    !verifyStakingSignature(certificate, encodeUnsignedAddress(address), signature)
  ) {
    throw new ParseError('signed address', 'is not signed by its node');
  }
}

/** Nodes read the lowest 16 bits of the field, and refuse zero. We refuse larger numbers, too. */
export function parsePort(port: number): number {
  if (port < 1 || port > 0xffff) throw new ParseError('port', `must be 1 to 65535, is ${port}`);
  return port;
}
