import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  X509Certificate,
} from 'node:crypto';
import { link, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { createFolder } from '../../lib/net/create-folder.ts';
import { describeFileError } from '../../lib/net/file-error.ts';
import type { NodeID } from '../../warp/ids.ts';
import { createStakingCertificate, parseStakingCertificate, type StakingCertificate } from './certificate.ts';

/** Staking certificate and its key, which decide our NodeID. */
export interface Identity {
  readonly nodeID: NodeID;
  readonly certificate: StakingCertificate;
  readonly certificatePem: string;
  readonly privateKey: KeyObject;
}

const ADVICE = 'restore both files, or remove both for a new identity';

/** The staking certificate or its key cannot be used. The message is for operators. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError';
}

/** Creates an ECDSA P-256 identity in memory. */
export function createIdentity(): Identity {
  return identityOfKeys(generateKeyPairSync('ec', { namedCurve: 'P-256' }));
}

/** Creates a certificate for a P-256 key. Each call returns another NodeID, because the signature is random. */
function identityOfKeys(keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject }): Identity {
  const certificate = createStakingCertificate(keys);
  return {
    nodeID: certificate.nodeID,
    certificate,
    certificatePem: new X509Certificate(certificate.der).toString(),
    privateKey: keys.privateKey,
  };
}

/** Files of an identity. */
export interface IdentityFiles {
  readonly certificatePath: string;
  readonly privateKeyPath: string;
  /** Folder that holds these two files only; undefined if each file has a separate path. */
  readonly directory: string | undefined;
}

/** @throws {IdentityError} if the PEM texts are not a certificate and its key, or nodes refuse the certificate */
export function parseIdentity(
  certificatePem: string,
  privateKeyPem: string,
  { certificatePath, privateKeyPath }: Omit<IdentityFiles, 'directory'>,
): Identity {
  const x509 = readPem('certificate', certificatePath, certificatePem, (pem) => new X509Certificate(pem));
  const privateKey = readPem('private key', privateKeyPath, privateKeyPem, (pem) => createPrivateKey(pem));
  const certificate = readPem('certificate', certificatePath, certificatePem, () =>
    parseStakingCertificate(new Uint8Array(x509.raw)),
  );
  if (!x509.checkPrivateKey(privateKey)) {
    throw new IdentityError(
      `the private key ${privateKeyPath} is not the one of the certificate ${certificatePath}; ${ADVICE}`,
    );
  }
  return { nodeID: certificate.nodeID, certificate, certificatePem: x509.toString(), privateKey };
}

/**
 * Reads the identity, or creates it if neither file exists. The NodeID must survive restarts, because operators of validator-only
 * networks allow us by it. Processes that start together get the same identity: a file appears complete, and the first one stays.
 *
 * The key is written first. In the identity's folder, a P-256 key without a certificate was left by a crash or belongs to a process
 * that is starting, and gets a certificate. With separate paths, one file without the other is an error.
 *
 * @throws {IdentityError} if a file is missing, cannot be read or written, or has refused content
 */
export async function openIdentity(files: IdentityFiles): Promise<Identity> {
  const { certificatePath, privateKeyPath, directory } = files;
  // In this order: a certificate that exists was written after its key.
  const certificatePem = await readIfExists(certificatePath);
  const privateKeyPem = await readIfExists(privateKeyPath);
  if (certificatePem !== undefined) {
    if (privateKeyPem === undefined) throw missing(privateKeyPath, certificatePath);
    return parseIdentity(certificatePem, privateKeyPem, files);
  }
  if (privateKeyPem !== undefined && directory === undefined) throw missing(certificatePath, privateKeyPath);
  const folderMode = directory === undefined ? undefined : 0o700;
  const keyPem = privateKeyPem ?? (await publish(privateKeyPath, encodePrivateKey(createIdentity()), folderMode));
  const { certificatePem: newPem } = identityOfKeys(parseP256Key(keyPem, files));
  return parseIdentity(await publish(certificatePath, newPem, folderMode), keyPem, files);
}

/** Refuses other keys: they had a certificate before, and a new one would change the NodeID. */
function parseP256Key(pem: string, { certificatePath, privateKeyPath }: IdentityFiles) {
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyDetails?.namedCurve === 'prime256v1') {
      return { privateKey, publicKey: createPublicKey(privateKey) };
    }
  } catch (cause) {
    throw new IdentityError(`${privateKeyPath} is no private key: ${describePem(pem, 'private key')}`, { cause });
  }
  throw missing(certificatePath, privateKeyPath);
}

/** Returns a warning for operators if others may read the key file. */
export async function findKeyFileProblem({ privateKeyPath }: IdentityFiles): Promise<string | undefined> {
  const { mode } = await stat(privateKeyPath);
  if ((mode & 0o077) === 0) return undefined;
  const octal = (mode & 0o777).toString(8).padStart(3, '0');
  return `${privateKeyPath} has the mode ${octal}: others than its owner may use the staking key; chmod 600 mends it`;
}

/** Options of `node:tls` for either side of a connection. */
export function identityTlsOptions(identity: Identity) {
  return { cert: identity.certificatePem, key: encodePrivateKey(identity), minVersion: 'TLSv1.3' } as const;
}

/** Parses certificate and key, which is half the cost of a connection: share the result between all connections. */
export function createIdentityContext(identity: Identity): SecureContext {
  return createSecureContext(identityTlsOptions(identity));
}

export function encodePrivateKey(identity: Identity): string {
  return identity.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function missing(absent: string, present: string): IdentityError {
  return new IdentityError(`${present} exists but ${absent} does not: ${ADVICE}`);
}

function readPem<T>(what: string, path: string, pem: string, read: (pem: string) => T): T {
  try {
    return read(pem);
  } catch (cause) {
    const reason = cause instanceof ParseError ? `${cause.message}; ${ADVICE}` : describePem(pem, what);
    throw new IdentityError(`the ${what} ${path} cannot be used: ${reason}`, { cause });
  }
}

/** Describes a PEM text that OpenSSL refuses: its errors name neither what was wanted nor what is there. */
function describePem(pem: string, wanted: string): string {
  if (/^-----BEGIN ENCRYPTED|^Proc-Type:.*ENCRYPTED/m.test(pem)) {
    return 'it is encrypted, and there is no setting for a passphrase; `openssl pkey -in FILE -out NEW` writes it without one';
  }
  const [, label] = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(pem) ?? [];
  const problem = label === undefined ? 'it is no PEM file' : `its PEM block ${label} cannot be read as a ${wanted}`;
  return `${problem}; ${ADVICE}`;
}

async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new IdentityError(`${path} cannot be read: ${describeFileError(cause)}`, { cause });
  }
}

/** Writes a file for its owner only, unless it exists already. Returns its content, which another process may have written. */
async function publish(path: string, content: string, folderMode: number | undefined): Promise<string> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    createFolder(dirname(path), folderMode);
    {
      await using file = await open(temporary, 'wx', 0o600);
      await file.writeFile(content);
      await file.sync();
    }
    // Unlike a rename, a link never replaces an existing file.
    await link(temporary, path);
    // The name has to survive a loss of power, too.
    await using folder = await open(dirname(path), 'r');
    await folder.sync();
    return content;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new IdentityError(`${path} cannot be written: ${describeFileError(cause)}`, { cause });
    }
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
  const existing = await readIfExists(path);
  if (existing === undefined) throw new IdentityError(`${path} was removed while the identity was created`);
  return existing;
}
