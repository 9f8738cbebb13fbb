import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import {
  createIdentity,
  encodePrivateKey,
  findKeyFileProblem,
  IdentityError,
  openIdentity,
  parseIdentity,
} from '../../../../src/p2p/identity/identity.ts';

const PATHS = { certificatePath: '/a/crt', privateKeyPath: '/a/key' };

describe('parseIdentity', () => {
  it('parses a created identity', () => {
    const identity = createIdentity();
    const parsed = parseIdentity(identity.certificatePem, encodePrivateKey(identity), PATHS);
    expect(parsed.nodeID).toBe(identity.nodeID);
    expect(parsed.certificate.der).toEqual(identity.certificate.der);
  });

  it('refuses the key of another certificate', () => {
    expect(() => parseIdentity(createIdentity().certificatePem, encodePrivateKey(createIdentity()), PATHS)).toThrow(
      'the private key /a/key is not the one of the certificate /a/crt',
    );
  });

  it('rejects malformed PEM and names the file', () => {
    const identity = createIdentity();
    expect(() => parseIdentity('certificate', encodePrivateKey(identity), PATHS)).toThrow(
      'the certificate /a/crt cannot',
    );
    expect(() => parseIdentity(identity.certificatePem, 'key', PATHS)).toThrow('the private key /a/key cannot be used');
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(() => parseIdentity(identity.certificatePem, publicPem, PATHS)).toThrow(IdentityError);
  });
});

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'identity-'));
});
afterEach(() => rm(base, { recursive: true }));

const filesIn = (directory: string) => ({
  directory,
  certificatePath: join(directory, 'staker.crt'),
  privateKeyPath: join(directory, 'staker.key'),
});

test('an identity is created once, in a folder and files for their owner only', async () => {
  const files = filesIn(join(base, 'new', 'deeper'));
  const first = await openIdentity(files);
  expect((await openIdentity(files)).nodeID).toBe(first.nodeID);
  expect((await stat(files.directory)).mode & 0o777).toBe(0o700);
  expect((await readdir(files.directory)).sort()).toEqual(['staker.crt', 'staker.key']);
  for (const path of [files.certificatePath, files.privateKeyPath]) expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('processes that start together get the same identity', async () => {
  const files = filesIn(join(base, 'shared'));
  const all = await Promise.all(Array.from({ length: 20 }, () => openIdentity(files)));
  expect(new Set(all.map(({ nodeID }) => nodeID)).size).toBe(1);
  expect((await openIdentity(files)).nodeID).toBe(all[0]?.nodeID);
  expect((await readdir(files.directory)).sort()).toEqual(['staker.crt', 'staker.key']);
});

test('a key without a certificate, left by a crash, is used', async () => {
  const files = filesIn(base);
  const key = encodePrivateKey(createIdentity());
  await writeFile(files.privateKeyPath, key, { mode: 0o600 });
  const identity = await openIdentity(files);
  expect(await readFile(files.privateKeyPath, 'utf8')).toBe(key);
  expect((await openIdentity(files)).nodeID).toBe(identity.nodeID);
});

test('a certificate without its key is an error, and so is a key of another kind', async () => {
  const files = filesIn(base);
  await writeFile(files.certificatePath, createIdentity().certificatePem);
  await expect(openIdentity(files)).rejects.toThrow(/staker\.crt exists but .*staker\.key does not/);
  await rm(files.certificatePath);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(files.privateKeyPath, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await expect(openIdentity(files)).rejects.toThrow(/staker\.key exists but .*staker\.crt does not/);
  await writeFile(files.privateKeyPath, 'no key');
  await expect(openIdentity(files)).rejects.toThrow(/staker\.key is no private key/);
  expect(await readdir(base)).toEqual(['staker.key']);
});

test('a folder that cannot be created is an error', async () => {
  const file = join(base, 'file');
  await writeFile(file, '');
  await chmod(file, 0o600);
  await expect(openIdentity(filesIn(join(file, 'folder')))).rejects.toThrow(IdentityError);
});

test('separate paths are created once, in missing folders too', async () => {
  const files = { ...filesIn(join(base, 'new', 'deeper')), directory: undefined };
  const first = await openIdentity(files);
  expect((await openIdentity(files)).nodeID).toBe(first.nodeID);
  for (const path of [files.certificatePath, files.privateKeyPath]) expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('a key file that others may read is reported', async () => {
  const files = filesIn(base);
  await openIdentity(files);
  expect(await findKeyFileProblem(files)).toBeUndefined();
  await chmod(files.privateKeyPath, 0o640);
  expect(await findKeyFileProblem(files)).toBe(
    `${files.privateKeyPath} has the mode 640: others than its owner may use the staking key; chmod 600 mends it`,
  );
});

test.each(['certificatePath', 'privateKeyPath'] as const)(
  'a lone %s among separate paths is an error',
  async (present) => {
    const files = { ...filesIn(base), directory: undefined };
    await writeFile(files[present], 'mine');
    await expect(openIdentity(files)).rejects.toThrow(/exists but .* does not/);
    expect(await readdir(base)).toHaveLength(1);
  },
);

test('an error names the file that cannot be read', async () => {
  const files = { ...filesIn(base), directory: undefined };
  await expect(openIdentity({ ...files, privateKeyPath: base })).rejects.toThrow(`${base} cannot be read`);
});

test.each(["'/proc/none/below'", 'undefined'])(
  'a folder that cannot be created, as in /proc, ends the start: %s',
  (directory) => {
    const files = `{ directory: ${directory}, certificatePath: '/proc/none/below/c', privateKeyPath: '/proc/none/below/k' }`;
    // In a separate process, which can be ended.
    const { stdout, error } = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `await (await import('./src/p2p/identity/identity.ts')).openIdentity(${files}).catch((error) => console.log(error.message))`,
      ],
      { cwd: join(import.meta.dirname, '../../../..'), encoding: 'utf8', timeout: 10_000 },
    );
    expect(error).toBeUndefined();
    expect(stdout).toMatch(/^\/proc\/none\/\S+ cannot be written: /);
  },
);
