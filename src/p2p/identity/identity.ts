import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { createFolder } from '../../lib/net/create-folder.ts';
import type { NodeID } from '../../warp/ids.ts';
import { createStakingCertificate, parseStakingCertificate, type StakingCertificate } from './certificate.ts';

/** Who we are to other nodes: a staking certificate and its key. */
export interface Identity {
  readonly nodeID: NodeID;
  readonly certificate: StakingCertificate;
  readonly certificatePem: string;
  readonly privateKey: KeyObject;
}

/** The staking certificate or its key cannot be used. The message is for the operator. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError';
}

/** A new ECDSA P-256 identity, held in memory only. */
export function createIdentity(): Identity {
  return identityOfKeys(generateKeyPairSync('ec', { namedCurve: 'P-256' }));
}

/** A new certificate of a P-256 key: a new NodeID, as no two certificates of a key are the same. */
export function identityOfKeys(keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }): Identity {
  const certificate = createStakingCertificate(keys);
  return {
    nodeID: certificate.nodeID,
    certificate,
    certificatePem: encodePem('CERTIFICATE', certificate.der),
    privateKey: keys.privateKey,
  };
}

/** @throws {IdentityError} where the PEM texts of these files are no certificate and key, do not match, or are refused by nodes */
export function parseIdentity(
  certificatePem: string,
  privateKeyPem: string,
  { certificatePath, privateKeyPath }: IdentityPaths,
): Identity {
  const x509 = readPem(`certificate ${certificatePath}`, () => new X509Certificate(certificatePem));
  const privateKey = readPem(`private key ${privateKeyPath}`, () => createPrivateKey(privateKeyPem));
  const certificate = readPem(`certificate ${certificatePath}`, () =>
    parseStakingCertificate(new Uint8Array(x509.raw)),
  );
  if (!x509.checkPrivateKey(privateKey)) {
    throw new IdentityError(`the private key ${privateKeyPath} is not the one of the certificate ${certificatePath}`);
  }
  return { nodeID: certificate.nodeID, certificate, certificatePem: x509.toString(), privateKey };
}

export interface IdentityPaths {
  readonly certificatePath: string;
  readonly privateKeyPath: string;
}

/**
 * Reads the identity from two PEM files, or where neither file exists, makes a new one and writes it there. The NodeID must
 * outlive restarts, since operators of validator-only networks admit us by it.
 *
 * @throws {IdentityError} where only one of the files exists, one cannot be read or written, or their content is refused
 */
export async function loadOrCreateIdentity(paths: IdentityPaths): Promise<Identity> {
  const [certificatePem, privateKeyPem] = await Promise.all([
    readIfExists(paths.certificatePath),
    readIfExists(paths.privateKeyPath),
  ]);
  if (certificatePem !== undefined && privateKeyPem !== undefined) {
    return parseIdentity(certificatePem, privateKeyPem, paths);
  }
  if (certificatePem !== undefined) throw missing(paths.privateKeyPath, paths.certificatePath);
  if (privateKeyPem !== undefined) throw missing(paths.certificatePath, paths.privateKeyPath);

  const identity = createIdentity();
  // The key first: a crash in between leaves a key without a certificate, which is reported, and never a NodeID without its key.
  await writeAtomically(paths.privateKeyPath, encodePrivateKey(identity));
  await writeAtomically(paths.certificatePath, identity.certificatePem);
  return identity;
}

/** What is wrong with who may read the key's file; undefined where nothing is. What it says is for the operator. */
export async function findKeyFileProblem({ privateKeyPath }: IdentityPaths): Promise<string | undefined> {
  const { mode } = await stat(privateKeyPath);
  if ((mode & 0o077) === 0) return undefined;
  const octal = (mode & 0o777).toString(8).padStart(3, '0');
  return `${privateKeyPath} has the mode ${octal}: others than its owner may use the staking key; chmod 600 mends it`;
}

/** What `node:tls` takes of an identity, on either side of a connection. Only TLS 1.3 is spoken. */
export interface IdentityTlsOptions {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: 'TLSv1.3';
}

export function identityTlsOptions(identity: Identity): IdentityTlsOptions {
  return { cert: identity.certificatePem, key: encodePrivateKey(identity), minVersion: 'TLSv1.3' };
}

/**
 * The TLS settings of one identity, for clients. Share it between all connections: building it parses certificate and
 * key, which is half the cost of a connection.
 */
export function createIdentityContext(identity: Identity): SecureContext {
  return createSecureContext({ ...identityTlsOptions(identity) });
}

export function encodePrivateKey(identity: Identity): string {
  return identity.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

export function missing(absent: string, present: string): IdentityError {
  return new IdentityError(`${present} exists but ${absent} does not: restore it, or remove both for a new identity`);
}

function readPem<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new IdentityError(`the ${what} cannot be used: ${(cause as Error).message}`, { cause });
  }
}

export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new IdentityError(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** Readable by the owner alone, and either complete or not there at all. */
async function writeAtomically(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    createFolder(dirname(path));
    {
      await using file = await open(temporary, 'wx', 0o600);
      await file.writeFile(content);
      await file.sync();
    }
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new IdentityError(`${path} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

/** @param label such as `CERTIFICATE` */
export function encodePem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
