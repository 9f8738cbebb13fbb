import { createPrivateKey, createPublicKey, hash, type JsonWebKey } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import { createStakingCertificate, parseStakingCertificate } from '../../src/p2p/identity/certificate.ts';
import { DER_TAG, DerReader, encodeDer } from '../../src/p2p/identity/der.ts';
import type { Identity } from '../../src/p2p/identity/identity.ts';
import { encodeUnsignedAddress, type NodeAddress, type SignedAddress } from '../../src/p2p/wire/signed-address.ts';

const identities = new Map<number, SimulatedIdentity>();

export interface SimulatedIdentity extends Identity {
  /** Made once for each address. */
  signAddress(address: NodeAddress): SignedAddress;
}

/** The same in every process, so that a seed replays to the byte: ECDSA by RFC 6979, and a certificate that needs no signature. */
export function simulatedIdentity(number: number): SimulatedIdentity {
  const known = identities.get(number);
  if (known !== undefined) return known;
  const secret = hash('sha256', `simulated identity ${number}`, 'buffer');
  const point = Buffer.from(p256.getPublicKey(secret, false));
  const text = (bytes: Buffer): string => bytes.toString('base64url');
  const jwk: JsonWebKey = {
    kty: 'EC',
    crv: 'P-256',
    d: text(secret),
    x: text(point.subarray(1, 33)),
    y: text(point.subarray(33)),
  };
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
  const made = createStakingCertificate({ privateKey, publicKey: createPublicKey(privateKey) });
  const certificate = parseStakingCertificate(withFixedSignature(made.der));
  const addresses = new Map<string, SignedAddress>();
  const identity: SimulatedIdentity = {
    nodeID: certificate.nodeID,
    certificate,
    certificatePem: '',
    privateKey,
    signAddress(address) {
      const name = `${address.host}:${address.port} ${address.timestamp}`;
      let signed = addresses.get(name);
      if (signed === undefined) {
        const signature = p256.sign(encodeUnsignedAddress(address), secret, { format: 'der', lowS: false });
        signed = { ...address, nodeID: certificate.nodeID, certificate: certificate.der, signature };
        addresses.set(name, signed);
      }
      return signed;
    },
  };
  identities.set(number, identity);
  return identity;
}

/** Makes certificates deterministic: their own signature is never verified, and differs each time. */
function withFixedSignature(der: Uint8Array): Uint8Array {
  const fields = new DerReader(
    new DerReader(der, 'certificate').read(DER_TAG.sequence, 'certificate').content,
    'certificate',
  );
  const signed = fields.read(DER_TAG.sequence, 'tbsCertificate').encoding;
  const algorithm = fields.read(DER_TAG.sequence, 'signatureAlgorithm').encoding;
  return encodeDer(DER_TAG.sequence, signed, algorithm, encodeDer(DER_TAG.bitString, new Uint8Array(65)));
}
