import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { encodeSelfSignedCertificate } from '../../src/p2p/identity/certificate.ts';
import { createIdentity, createIdentityContext } from '../../src/p2p/identity/identity.ts';

/** What a validator shows of itself in TLS, in place of its identity. */
export function createTlsContext(kind: 'wrong certificate' | 'malformed certificate'): SecureContext {
  return kind === 'wrong certificate' ? createIdentityContext(createIdentity()) : createForbiddenContext();
}

/** OpenSSL takes it, as TLS allows the curve, but no node does. What OpenSSL itself cannot read it does not send either. */
function createForbiddenContext(): SecureContext {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  return createSecureContext({
    cert: new X509Certificate(encodeSelfSignedCertificate(keys)).toString(),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    minVersion: 'TLSv1.3',
  });
}
