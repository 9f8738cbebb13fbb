import { createSign, generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { concatBytes } from '../../../../src/lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import {
  createStakingCertificate,
  MAX_CERTIFICATE_LENGTH,
  parseStakingCertificate,
  verifyStakingSignature,
} from '../../../../src/p2p/identity/certificate.ts';
import { DER_TAG, encodeDer } from '../../../../src/p2p/identity/der.ts';
import { readPeerTranscript } from '../../../vectors/vectors.ts';

const { serverCertificate, clientCertificate, peerNodeID, myNodeID } = readPeerTranscript();
const realCertificates = [
  { key: 'RSA 4096', der: serverCertificate, nodeID: peerNodeID },
  { key: 'ECDSA P-256', der: clientCertificate, nodeID: myNodeID },
];

/** A certificate around any key; nodes look at nothing but the key. */
function certificateAround(spki: Uint8Array, serial: readonly number[] = [0]): Uint8Array {
  const empty = encodeDer(DER_TAG.sequence);
  const serialNumber = encodeDer(DER_TAG.integer, Uint8Array.from(serial));
  const tbs = encodeDer(DER_TAG.sequence, serialNumber, empty, empty, empty, empty, spki);
  return encodeDer(DER_TAG.sequence, tbs, empty, encodeDer(DER_TAG.bitString, Uint8Array.of(0)));
}

const spkiOf = (key: { export(options: { type: 'spki'; format: 'der' }): Buffer }): Uint8Array =>
  key.export({ type: 'spki', format: 'der' });

it.each(realCertificates)('a real $key certificate is read, with its NodeID', ({ der, nodeID }) => {
  expect(parseStakingCertificate(der).nodeID).toBe(nodeID);
});

it.each([
  ['P-384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' }), /curve secp384r1/],
  ['secp256k1', () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }), /curve secp256k1/],
  ['ed25519', () => generateKeyPairSync('ed25519'), /type ed25519/],
  ['RSA 3072', () => generateKeyPairSync('rsa', { modulusLength: 3072 }), /3072 bits/],
  ['RSA with e = 3', () => generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }), /exponent 3/],
])('a key that nodes refuse is refused: %s', (_, generate, reason) => {
  const der = certificateAround(spkiOf(generate().publicKey));
  expect(() => parseStakingCertificate(der)).toThrow(ParseError);
  expect(() => parseStakingCertificate(der)).toThrow(reason);
});

it('a serial that OpenSSL refuses is accepted, like by nodes', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = certificateAround(spkiOf(publicKey), [0, 0, 0, 1]);
  expect(() => new X509Certificate(der)).toThrow();
  expect(parseStakingCertificate(der).publicKey.equals(publicKey)).toBe(true);
});

it('more than 2 KiB and trailing bytes are refused', () => {
  const der = realCertificates[1]?.der ?? new Uint8Array();
  expect(() => parseStakingCertificate(concatBytes(der, Uint8Array.of(0)))).toThrow('1 trailing bytes');
  expect(() => parseStakingCertificate(new Uint8Array(MAX_CERTIFICATE_LENGTH + 1))).toThrow('at most 2048');
});

it('any bytes are a certificate or throw a ParseError', () => {
  const real = fc.constantFrom(...realCertificates.map(({ der }) => der));
  const any = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.tuple(real, fc.nat(), fc.nat({ max: 255 })).map(([der, at, byte]) => der.with(at % der.length, byte)),
    fc.tuple(real, fc.nat()).map(([der, length]) => der.subarray(0, length % der.length)),
  );
  fc.assert(
    fc.property(any, (der) => {
      expect(attempt(() => parseStakingCertificate(der))).toBeDefined();
    }),
    { numRuns: 500 },
  );
});

it('we create a self-signed certificate that OpenSSL accepts', () => {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { der } = createStakingCertificate(keys);
  const x509 = new X509Certificate(der);
  expect(x509.verify(keys.publicKey)).toBe(true);
  expect(x509.checkPrivateKey(keys.privateKey)).toBe(true);
  expect(x509.validToDate.getUTCFullYear()).toBe(9999);
});

const message = Uint8Array.of(1, 2, 3);

it.each([
  ['ECDSA', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 })],
])('a certificate verifies an %s signature, and no other message or bytes', (_, { publicKey, privateKey }) => {
  const certificate = parseStakingCertificate(certificateAround(spkiOf(publicKey)));
  const signature = createSign('sha256').update(message).sign(privateKey);
  expect(verifyStakingSignature(certificate, message, signature)).toBe(true);
  expect(verifyStakingSignature(certificate, Uint8Array.of(1, 2, 4), signature)).toBe(false);
  expect(verifyStakingSignature(certificate, message, sign('sha512', message, privateKey))).toBe(false);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (garbage) => {
      expect(verifyStakingSignature(certificate, message, garbage)).toBe(false);
    }),
  );
});
