import type * as CertificateModule from '../../src/p2p/identity/certificate.ts';
import type { StakingCertificate } from '../../src/p2p/identity/certificate.ts';

type Certificates = typeof CertificateModule;

/** Certificates of the validators of all worlds, by their bytes. */
const MAX_CERTIFICATES = 1_000;
/** Address signatures of one node. */
const MAX_SIGNATURES = 100;

/**
 * The module as it is, but what it has found out once it knows: the same nodes show the same certificates in thousands of worlds, and to
 * read one and to verify a signature takes OpenSSL longer than all else that a connection does.
 */
export function rememberCertificates(original: Certificates): Certificates {
  const certificates = new Map<string, StakingCertificate>();
  const verified = new WeakMap<StakingCertificate, Map<string, boolean>>();
  return {
    ...original,
    parseStakingCertificate(der) {
      const name = asText(der);
      let certificate = certificates.get(name);
      if (certificate === undefined) {
        if (certificates.size === MAX_CERTIFICATES) certificates.clear();
        certificate = original.parseStakingCertificate(der);
        certificates.set(name, certificate);
      }
      return certificate;
    },
    verifyStakingSignature(certificate, message, signature) {
      let ofNode = verified.get(certificate);
      if (ofNode === undefined || ofNode.size === MAX_SIGNATURES) {
        ofNode = new Map();
        verified.set(certificate, ofNode);
      }
      const name = `${asText(message)}/${asText(signature)}`;
      let isGood = ofNode.get(name);
      if (isGood === undefined) {
        isGood = original.verifyStakingSignature(certificate, message, signature);
        ofNode.set(name, isGood);
      }
      return isGood;
    },
  };
}

function asText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
