import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createIdentity, encodePrivateKey, IdentityError } from '../../../../src/p2p/identity/identity.ts';
import { openIdentity } from '../../../../src/p2p/identity/identity-folder.ts';

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'identity-'));
});
afterEach(() => rm(base, { recursive: true }));

const placeIn = (directory: string) => ({
  directory,
  certificatePath: join(directory, 'staker.crt'),
  privateKeyPath: join(directory, 'staker.key'),
});

test('is made once, in a folder and files for their owner alone', async () => {
  const place = placeIn(join(base, 'new', 'deeper'));
  const first = await openIdentity(place);
  expect((await openIdentity(place)).nodeID).toBe(first.nodeID);
  expect((await stat(place.directory)).mode & 0o777).toBe(0o700);
  expect((await readdir(place.directory)).sort()).toEqual(['staker.crt', 'staker.key']);
  for (const path of [place.certificatePath, place.privateKeyPath]) expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('is the same for all who start at the same time', async () => {
  const place = placeIn(join(base, 'shared'));
  const all = await Promise.all(Array.from({ length: 20 }, () => openIdentity(place)));
  expect(new Set(all.map(({ nodeID }) => nodeID)).size).toBe(1);
  expect((await openIdentity(place)).nodeID).toBe(all[0]?.nodeID);
  expect((await readdir(place.directory)).sort()).toEqual(['staker.crt', 'staker.key']);
});

test('after a crash between the two files the key that is there is used', async () => {
  const place = placeIn(base);
  const key = encodePrivateKey(createIdentity());
  await writeFile(place.privateKeyPath, key, { mode: 0o600 });
  const identity = await openIdentity(place);
  expect(await readFile(place.privateKeyPath, 'utf8')).toBe(key);
  expect((await openIdentity(place)).nodeID).toBe(identity.nodeID);
});

test('a certificate without its key is left as it is, and so is a key that is not of our making', async () => {
  const place = placeIn(base);
  await writeFile(place.certificatePath, createIdentity().certificatePem);
  await expect(openIdentity(place)).rejects.toThrow(/staker\.crt exists but .*staker\.key does not/);
  await rm(place.certificatePath);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(place.privateKeyPath, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await expect(openIdentity(place)).rejects.toThrow(/staker\.key exists but .*staker\.crt does not/);
  await writeFile(place.privateKeyPath, 'no key');
  await expect(openIdentity(place)).rejects.toThrow(/staker\.key is no private key/);
  expect(await readdir(base)).toEqual(['staker.key']);
});

test('a folder that cannot be made is said so', async () => {
  const file = join(base, 'file');
  await writeFile(file, '');
  await chmod(file, 0o600);
  await expect(openIdentity(placeIn(join(file, 'folder')))).rejects.toThrow(IdentityError);
});

test('two paths of their own are used as they are', async () => {
  const place = { ...placeIn(base), directory: undefined };
  expect((await openIdentity(place)).nodeID).toBe((await openIdentity(place)).nodeID);
});

test.each(['a folder', 'two paths'])(
  '%s: a place in which no folder can be made, as /proc is, does not hang the start',
  (how) => {
    const script =
      how === 'a folder'
        ? "(await import('./src/p2p/identity/identity-folder.ts')).openIdentity({ directory: '/proc/none/below', certificatePath: '/proc/none/below/c', privateKeyPath: '/proc/none/below/k' })"
        : "(await import('./src/p2p/identity/identity.ts')).loadOrCreateIdentity({ certificatePath: '/proc/none/c', privateKeyPath: '/proc/none/k' })";
    // In a process of its own, which can be ended.
    const { stdout, error } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', `await ${script}.catch((error) => console.log(error.message))`],
      { cwd: join(import.meta.dirname, '../../../..'), encoding: 'utf8', timeout: 10_000 },
    );
    expect(error).toBeUndefined();
    expect(stdout).toMatch(/^\/proc\/none\/\S+ cannot be (made|written): /);
  },
);
