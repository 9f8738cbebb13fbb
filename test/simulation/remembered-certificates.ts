import type * as CertificateModule from '../../src/p2p/identity/certificate.ts';

type Certificates = typeof CertificateModule;

/**
 * The module with the results of earlier calls: the same few nodes show the same certificates in thousands of worlds, and to read one and
 * to verify a signature takes OpenSSL longer than all else that a connection does.
 */
export function rememberCertificates(original: Certificates): Certificates {
  return {
    ...original,
    parseStakingCertificate: remember(original.parseStakingCertificate, asText),
    verifyStakingSignature: remember(original.verifyStakingSignature, ({ nodeID }, message, signature) =>
      [nodeID, asText(message), asText(signature)].join('/'),
    ),
  };
}

function remember<Args extends unknown[], Result>(
  run: (...args: Args) => Result,
  nameOf: (...args: Args) => string,
): (...args: Args) => Result {
  const known = new Map<string, Result>();
  return (...args) => {
    const name = nameOf(...args);
    const result = known.get(name) ?? run(...args);
    known.set(name, result);
    return result;
  };
}

function asText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
