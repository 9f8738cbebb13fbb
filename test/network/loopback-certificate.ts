import { generateKeyPairSync, sign } from 'node:crypto';
import { hexToBytes } from '@noble/hashes/utils.js';
import { DER_TAG, encodeDer } from '../../src/p2p/identity/der.ts';

/** A self-signed certificate of 127.0.0.1 and its private key, both in PEM. */
export function createLoopbackCertificate(): { readonly certificate: string; readonly privateKey: string } {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const sequence = (...content: Uint8Array[]) => encodeDer(DER_TAG.sequence, ...content);
  const ecdsaWithSha256 = sequence(hexToBytes('06082a8648ce3d040302'));
  // A SET of one commonName, as a UTF8String.
  const name = sequence(encodeDer(0x31, sequence(hexToBytes('0603550403'), encodeDer(0x0c, Buffer.from('loopback')))));
  const validity = sequence(
    encodeDer(DER_TAG.utcTime, Buffer.from('000101000000Z')),
    encodeDer(DER_TAG.generalizedTime, Buffer.from('99991231235959Z')),
  );
  // subjectAltName with the IP address 127.0.0.1, and basicConstraints of an authority, which is what can be trusted.
  const extensions = sequence(
    sequence(hexToBytes('0603551d11'), encodeDer(0x04, sequence(hexToBytes('87047f000001')))),
    sequence(hexToBytes('0603551d13'), hexToBytes('0101ff'), encodeDer(0x04, sequence(hexToBytes('0101ff')))),
  );
  const toBeSigned = sequence(
    encodeDer(DER_TAG.context0, Uint8Array.of(DER_TAG.integer, 1, 2)),
    Uint8Array.of(DER_TAG.integer, 1, 1),
    ecdsaWithSha256,
    name,
    validity,
    name,
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    encodeDer(DER_TAG.context3, extensions),
  );
  const signature = encodeDer(DER_TAG.bitString, Uint8Array.of(0), sign('sha256', toBeSigned, keys.privateKey));
  const der = Buffer.from(sequence(toBeSigned, ecdsaWithSha256, signature));
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`,
    privateKey: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
