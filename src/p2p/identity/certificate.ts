import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { hexToBytes } from '@noble/hashes/utils.js';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type NodeID, nodeIDFromCertificate } from '../../warp/ids.ts';
import { DER_TAG, DerReader, encodeDer } from './der.ts';

/** Nodes refuse larger certificates (avalanchego `staking/parse.go`). */
export const MAX_CERTIFICATE_LENGTH = 2 * 1024;
const RSA_MODULUS_LENGTHS: ReadonlySet<number | undefined> = new Set([2048, 4096]);
const RSA_PUBLIC_EXPONENT = 65_537n;

const WHAT = 'staking certificate';

/** Self-signed certificate of a node. Only its key is used; the NodeID is the hash of its bytes. */
export interface StakingCertificate {
  readonly der: Uint8Array;
  readonly nodeID: NodeID;
  readonly publicKey: KeyObject;
}

/**
 * Reads only the public key, like the reference node (avalanchego `staking/parse.go`). OpenSSL's X.509 parser refuses certificates that
 * nodes accept.
 *
 * @throws {ParseError} for a malformed certificate, one above 2 KiB, or a key other than ECDSA P-256, or RSA 2048 or 4096 with the
 * exponent 65537
 */
export function parseStakingCertificate(der: Uint8Array): StakingCertificate {
  if (der.length > MAX_CERTIFICATE_LENGTH) {
    throw new ParseError(WHAT, `has ${der.length} bytes, at most ${MAX_CERTIFICATE_LENGTH} are allowed`);
  }
  return { der, nodeID: nodeIDFromCertificate(der), publicKey: parsePublicKey(subjectPublicKeyInfo(der)) };
}

function subjectPublicKeyInfo(der: Uint8Array): Uint8Array {
  const outer = new DerReader(der, WHAT);
  const certificate = new DerReader(outer.read(DER_TAG.sequence, 'certificate').content, WHAT);
  outer.end();
  const fields = new DerReader(certificate.read(DER_TAG.sequence, 'tbsCertificate').content, WHAT);
  fields.skipOptional(DER_TAG.context0, 'version');
  fields.read(DER_TAG.integer, 'serialNumber');
  fields.read(DER_TAG.sequence, 'signature');
  fields.read(DER_TAG.sequence, 'issuer');
  fields.read(DER_TAG.sequence, 'validity');
  fields.read(DER_TAG.sequence, 'subject');
  return fields.read(DER_TAG.sequence, 'subjectPublicKeyInfo').encoding;
}

function parsePublicKey(spki: Uint8Array): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  } catch (cause) {
    throw new ParseError(WHAT, 'has no readable public key', { cause });
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'ec') {
    if (details?.namedCurve === 'prime256v1') return key;
    throw new ParseError(WHAT, `has a key on the curve ${details?.namedCurve}, only P-256 is allowed`);
  }
  if (type === 'rsa') {
    if (!RSA_MODULUS_LENGTHS.has(details?.modulusLength)) {
      throw new ParseError(WHAT, `has an RSA key of ${details?.modulusLength} bits, only 2048 and 4096 are allowed`);
    }
    if (details?.publicExponent !== RSA_PUBLIC_EXPONENT) {
      throw new ParseError(WHAT, `has an RSA key with the exponent ${details?.publicExponent}, only 65537 is allowed`);
    }
    return key;
  }
  throw new ParseError(WHAT, `has a key of type ${type}, only ECDSA P-256 and RSA are allowed`);
}

/** Verifies ECDSA (ASN.1) or RSA PKCS#1 v1.5 over SHA-256 (avalanchego `staking/verify.go`). False for a malformed signature. */
export function verifyStakingSignature(
  certificate: StakingCertificate,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  try {
    return verify('sha256', message, certificate.publicKey, signature);
  } catch {
    // OpenSSL throws on some malformed keys and signatures.
    return false;
  }
}

/** ecdsa-with-SHA256, 1.2.840.10045.4.3.2, without parameters (RFC 5758). */
const ECDSA_WITH_SHA256 = encodeDer(DER_TAG.sequence, hexToBytes('06082a8648ce3d040302'));
/** Version 3. */
const VERSION = encodeDer(DER_TAG.context0, Uint8Array.of(DER_TAG.integer, 1, 2));
const SERIAL_NUMBER = Uint8Array.of(DER_TAG.integer, 1, 0);
const EMPTY_NAME = encodeDer(DER_TAG.sequence);
/** Ends at the date that RFC 5280 reserves for "never expires"; nodes ignore it. */
const VALIDITY = encodeDer(
  DER_TAG.sequence,
  encodeDer(DER_TAG.utcTime, Buffer.from('000101000000Z')),
  encodeDer(DER_TAG.generalizedTime, Buffer.from('99991231235959Z')),
);
/** keyUsage digitalSignature and basicConstraints, both critical, like the reference node's. */
const EXTENSIONS = hexToBytes('a320301e300e0603551d0f0101ff040403020780300c0603551d130101ff04023000');

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** Creates a self-signed certificate of a P-256 key with the fields of the reference node's (avalanchego `staking/tls.go`). */
export function createStakingCertificate(keys: KeyPair): StakingCertificate {
  return parseStakingCertificate(encodeSelfSignedCertificate(keys));
}

/** Encodes the certificate of any EC key in DER. */
export function encodeSelfSignedCertificate(keys: KeyPair): Uint8Array {
  const tbsCertificate = encodeDer(
    DER_TAG.sequence,
    VERSION,
    SERIAL_NUMBER,
    ECDSA_WITH_SHA256,
    EMPTY_NAME,
    VALIDITY,
    EMPTY_NAME,
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    EXTENSIONS,
  );
  const signature = sign('sha256', tbsCertificate, keys.privateKey);
  // The leading byte of a bit string counts its unused bits.
  const signatureValue = encodeDer(DER_TAG.bitString, Uint8Array.of(0), signature);
  return encodeDer(DER_TAG.sequence, tbsCertificate, ECDSA_WITH_SHA256, signatureValue);
}
