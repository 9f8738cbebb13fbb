import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createIdentity,
  findKeyFileProblem,
  IdentityError,
  loadOrCreateIdentity,
  parseIdentity,
} from '../../../../src/p2p/identity/identity.ts';

const privatePem = (identity: ReturnType<typeof createIdentity>): string =>
  identity.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const PATHS = { certificatePath: '/a/crt', privateKeyPath: '/a/key' };

describe('parseIdentity', () => {
  it('reads what createIdentity made', () => {
    const identity = createIdentity();
    const parsed = parseIdentity(identity.certificatePem, privatePem(identity), PATHS);
    expect(parsed.nodeID).toBe(identity.nodeID);
    expect(parsed.certificate.der).toEqual(identity.certificate.der);
  });

  it('refuses the key of another certificate', () => {
    expect(() => parseIdentity(createIdentity().certificatePem, privatePem(createIdentity()), PATHS)).toThrow(
      'the private key /a/key is not the one of the certificate /a/crt',
    );
  });

  it('refuses what is no PEM, and names the file', () => {
    const identity = createIdentity();
    expect(() => parseIdentity('certificate', privatePem(identity), PATHS)).toThrow('the certificate /a/crt cannot');
    expect(() => parseIdentity(identity.certificatePem, 'key', PATHS)).toThrow('the private key /a/key cannot be used');
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(() => parseIdentity(identity.certificatePem, publicPem, PATHS)).toThrow(IdentityError);
  });
});

describe('loadOrCreateIdentity', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'identity-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const pathsIn = (name: string) => ({
    certificatePath: join(directory, name, 'staker.crt'),
    privateKeyPath: join(directory, name, 'staker.key'),
  });

  it('makes an identity once and keeps it, for its owner alone', async () => {
    const paths = pathsIn('new/deeper');
    const first = await loadOrCreateIdentity(paths);
    expect((await loadOrCreateIdentity(paths)).nodeID).toBe(first.nodeID);
    for (const path of [paths.certificatePath, paths.privateKeyPath])
      expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(directory, 'new/deeper'))).toEqual(['staker.crt', 'staker.key']);
  });

  it('says who else may use the key', async () => {
    const paths = pathsIn('.');
    await loadOrCreateIdentity(paths);
    expect(await findKeyFileProblem(paths)).toBeUndefined();
    await chmod(paths.privateKeyPath, 0o640);
    expect(await findKeyFileProblem(paths)).toBe(
      `${paths.privateKeyPath} has the mode 640: others than its owner may use the staking key; chmod 600 mends it`,
    );
  });

  it.each(['certificatePath', 'privateKeyPath'] as const)('never replaces a lone %s', async (present) => {
    const paths = pathsIn('.');
    await writeFile(paths[present], 'mine');
    await expect(loadOrCreateIdentity(paths)).rejects.toThrow(/exists but .* does not/);
    expect(await readdir(directory)).toHaveLength(1);
  });

  it('says which file it cannot read or write', async () => {
    const paths = pathsIn('.');
    await expect(loadOrCreateIdentity({ ...paths, privateKeyPath: directory })).rejects.toThrow(
      `${directory} cannot be read`,
    );
    const file = join(directory, 'file');
    await writeFile(file, '');
    await chmod(file, 0o600);
    await expect(loadOrCreateIdentity({ ...paths, certificatePath: join(file, 'staker.crt') })).rejects.toThrow(
      IdentityError,
    );
  });
});
