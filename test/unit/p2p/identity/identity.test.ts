import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createIdentity,
  encodePrivateKey,
  findKeyFileProblem,
  IdentityError,
  openIdentity,
  parseIdentity,
} from '../../../../src/p2p/identity/identity.ts';

const PATHS = { certificatePath: '/a/crt', privateKeyPath: '/a/key' };

test('an identity is parsed from its PEM texts, and a wrong one is named by its file', () => {
  const identity = createIdentity();
  const key = encodePrivateKey(identity);
  expect(parseIdentity(identity.certificatePem, key, PATHS).certificate.der).toEqual(identity.certificate.der);
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  for (const [certificate, privateKey, named] of [
    [identity.certificatePem, encodePrivateKey(createIdentity()), '/a/key is not the one of the certificate /a/crt'],
    ['certificate', key, 'the certificate /a/crt cannot be used'],
    [identity.certificatePem, 'key', 'the private key /a/key cannot be used'],
    [identity.certificatePem, publicKey.export({ type: 'spki', format: 'pem' }).toString(), '/a/key cannot be used'],
  ] as const) {
    const parse = () => parseIdentity(certificate, privateKey, PATHS);
    expect(parse).toThrow(IdentityError);
    expect(parse).toThrow(named);
  }
});

test('an encrypted key, and a file of another kind, are described in words for operators', () => {
  const identity = createIdentity();
  const encrypted = identity.privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'a',
  });
  const old = identity.privateKey.export({ type: 'sec1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'a' });
  const key = encodePrivateKey(identity);
  for (const [certificate, privateKey, expected] of [
    [identity.certificatePem, encrypted.toString(), 'the private key /a/key cannot be used: it is encrypted'],
    [identity.certificatePem, old.toString(), 'the private key /a/key cannot be used: it is encrypted'],
    [identity.certificatePem, 'key', 'the private key /a/key cannot be used: it is no PEM file; restore both files'],
    [
      identity.certificatePem,
      identity.certificatePem,
      'its PEM block CERTIFICATE cannot be read as a private key; restore both files',
    ],
    [key, key, 'the certificate /a/crt cannot be used: its PEM block PRIVATE KEY cannot be read as a certificate'],
  ] as const) {
    expect(() => parseIdentity(certificate, privateKey, PATHS)).toThrow(expected);
  }
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

test.each([true, false])(
  'an identity is created once for all processes, for its owner only: folder %s',
  async (isFolder) => {
    const directory = join(base, 'new', 'deeper');
    const files = { ...filesIn(directory), ...(!isFolder && { directory: undefined }) };
    const all = await Promise.all(Array.from({ length: 10 }, () => openIdentity(files)));
    expect(new Set(all.map(({ nodeID }) => nodeID)).size).toBe(1);
    expect((await openIdentity(files)).nodeID).toBe(all[0]?.nodeID);
    if (isFolder) expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await readdir(directory)).sort()).toEqual(['staker.crt', 'staker.key']);
    for (const path of [files.certificatePath, files.privateKeyPath])
      expect((await stat(path)).mode & 0o777).toBe(0o600);
  },
);

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
  await expect(openIdentity({ ...files, directory: undefined })).rejects.toThrow(/staker\.key exists but .* does not/);
  expect(await readdir(base)).toEqual(['staker.key']);
});

test('a key file that others may read is reported', async () => {
  const files = filesIn(base);
  await openIdentity(files);
  expect(await findKeyFileProblem(files)).toBeUndefined();
  await chmod(files.privateKeyPath, 0o640);
  expect(await findKeyFileProblem(files)).toContain(`${files.privateKeyPath} has the mode 640`);
});

test('an error names the file that cannot be read, or be written', async () => {
  const files = { ...filesIn(base), directory: undefined };
  await expect(openIdentity({ ...files, privateKeyPath: base })).rejects.toThrow(
    `${base} cannot be read: it is a folder`,
  );
  const file = join(base, 'file');
  await writeFile(file, '');
  await expect(openIdentity(filesIn(join(file, 'folder')))).rejects.toThrow(IdentityError);
});

test('a folder that cannot be created, as in /proc, ends the start', () => {
  const files = `{ directory: '/proc/none/below', certificatePath: '/proc/none/below/c', privateKeyPath: '/proc/none/below/k' }`;
  // In a separate process, which can be ended.
  const code = `await (await import('./src/p2p/identity/identity.ts')).openIdentity(${files}).catch(({ message }) => console.log(message))`;
  const { stdout, error } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: join(import.meta.dirname, '../../../..'),
    encoding: 'utf8',
    timeout: 10_000,
  });
  expect(error).toBeUndefined();
  expect(stdout).toMatch(/^\/proc\/none\/\S+ cannot be written: /);
});
