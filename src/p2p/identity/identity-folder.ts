import { createPrivateKey, createPublicKey, type KeyObject, randomUUID } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createFolder } from '../../lib/net/create-folder.ts';
import {
  createIdentity,
  encodePrivateKey,
  type Identity,
  IdentityError,
  type IdentityPaths,
  identityOfKeys,
  loadOrCreateIdentity,
  missing,
  parseIdentity,
  readIfExists,
} from './identity.ts';

/** The files of an identity, and the folder that holds them where it is theirs alone. */
export interface IdentityPlace extends IdentityPaths {
  /** Undefined where each of the files has a path of its own. */
  readonly directory: string | undefined;
}

/**
 * The identity that lives at a place; made there where there is none. Several processes that start at the same time get the same one.
 *
 * @throws {IdentityError}
 */
export async function openIdentity(place: IdentityPlace): Promise<Identity> {
  return place.directory === undefined ? loadOrCreateIdentity(place) : loadOrCreateInFolder(place, place.directory);
}

/**
 * Each file appears under its name whole or not at all, and the first that is there stays: whoever comes second takes what the first
 * has made. The key goes first. Whoever finds it alone, after a crash or because another process is just making the rest, makes a
 * certificate of it, and the first certificate that is there is the identity.
 */
async function loadOrCreateInFolder(paths: IdentityPaths, directory: string): Promise<Identity> {
  const { certificatePath, privateKeyPath } = paths;
  try {
    createFolder(directory, 0o700);
  } catch (cause) {
    throw new IdentityError(`${directory} cannot be made: ${(cause as Error).message}`, { cause });
  }
  // The certificate is read first: where it is there, its key has been there before it.
  const certificatePem = await readIfExists(certificatePath);
  let privateKeyPem = await readIfExists(privateKeyPath);
  if (certificatePem !== undefined) {
    if (privateKeyPem === undefined) throw missing(privateKeyPath, certificatePath);
    return parseIdentity(certificatePem, privateKeyPem, paths);
  }
  if (privateKeyPem === undefined) {
    await publish(privateKeyPath, encodePrivateKey(createIdentity()));
    privateKeyPem = await readBack(privateKeyPath);
  }
  const own = identityOfKeys(parseKey(privateKeyPem, paths));
  await publish(certificatePath, own.certificatePem);
  return parseIdentity(await readBack(certificatePath), privateKeyPem, paths);
}

/** Only keys as we make them: of any other one, a certificate was there before, and making another would change the NodeID. */
function parseKey(pem: string, paths: IdentityPaths): { publicKey: KeyObject; privateKey: KeyObject } {
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyDetails?.namedCurve === 'prime256v1') {
      return { privateKey, publicKey: createPublicKey(privateKey) };
    }
  } catch (cause) {
    throw new IdentityError(`${paths.privateKeyPath} is no private key: ${(cause as Error).message}`, { cause });
  }
  throw missing(paths.certificatePath, paths.privateKeyPath);
}

/** Readable by the owner alone. A file that is there already stays as it is. */
async function publish(path: string, content: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    {
      await using file = await open(temporary, 'wx', 0o600);
      await file.writeFile(content);
      await file.sync();
    }
    // Unlike a rename, a link never takes the place of what is there.
    await link(temporary, path);
    // The name has to outlive a loss of power, too.
    await using folder = await open(dirname(path), 'r');
    await folder.sync();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw new IdentityError(`${path} cannot be written: ${(cause as Error).message}`, { cause });
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

async function readBack(path: string): Promise<string> {
  const text = await readIfExists(path);
  if (text === undefined) throw new IdentityError(`${path} was there a moment ago, and is gone`);
  return text;
}
