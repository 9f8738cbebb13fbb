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

/** avalanchego `DefaultNetworkMaxClockDifference`. */
export const MAX_CLOCK_DIFFERENCE_MS = 60_000;
/** RSA-4096, the longest key. */
const MAX_SIGNATURE_LENGTH = 512;

/** Address that a node has signed, which peers pass on. */
export interface NodeAddress {
  /** Text of an IP address. */
  readonly host: string;
  readonly port: number;
  /** Unix seconds of the signature. The newest address of a node counts. */
  readonly timestamp: bigint;
}

export interface SignedAddress extends NodeAddress {
  readonly nodeID: NodeID;
  /** DER. */
  readonly certificate: Uint8Array;
  readonly signature: Uint8Array;
}

/** Encodes the signed bytes: 16 bytes of IP · `u16` port · `u64` timestamp (avalanchego `network/peer/ip.go`). */
export function encodeUnsignedAddress(address: NodeAddress): Uint8Array {
  return new ByteWriter().bytes(ipAddressBytes(address.host)).u16(address.port).u64(address.timestamp).finish();
}

/** Takes some milliseconds with an RSA key. */
export function signAddress(identity: Identity, address: NodeAddress): SignedAddress {
  return {
    ...address,
    nodeID: identity.nodeID,
    certificate: identity.certificate.der,
    signature: sign('sha256', encodeUnsignedAddress(address), identity.privateKey),
  };
}

/** Parses an entry of a PeerList without verifying its signature. @throws {ParseError} */
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

/** Encodes an entry of a PeerList. */
export function encodeClaimedIpPort(address: SignedAddress): MessageInitShape<typeof ClaimedIpPortSchema> {
  return {
    x509Certificate: address.certificate,
    ipAddr: ipAddressBytes(address.host),
    ipPort: address.port,
    timestamp: address.timestamp,
    signature: address.signature,
    // Unused since the Durango upgrade; the reference node sends 32 zero bytes.
    txId: new Uint8Array(32),
  };
}

/** @throws {ParseError} if the node did not sign this address, or its time is more than a minute ahead of our clock */
export function verifySignedAddress(address: SignedAddress, nowMs: number): void {
  verifyAddressSignature(address, address.signature, parseStakingCertificate(address.certificate), nowMs);
}

/** @throws {ParseError} like {@link verifySignedAddress} */
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

/** Nodes use the lowest 16 bits of the field and refuse zero; larger numbers are refused here. @throws {ParseError} */
export function parsePort(port: number): number {
  if (port < 1 || port > 0xffff) throw new ParseError('port', `must be 1 to 65535, is ${port}`);
  return port;
}
