import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { encodeSelfSignedCertificate } from '../../src/p2p/identity/certificate.ts';
import { createIdentity, createIdentityContext, type Identity } from '../../src/p2p/identity/identity.ts';
import type { Behaviour } from './behaviour.ts';

/** What a validator shows of itself in TLS. */
export function createTlsContext(identity: Identity, behaviour: Behaviour): SecureContext {
  if (behaviour.kind === 'malformed certificate') return createForbiddenContext();
  return createIdentityContext(behaviour.kind === 'wrong certificate' ? createIdentity() : identity);
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
