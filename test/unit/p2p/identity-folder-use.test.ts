import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { IdentityFolderUse, LOOK_INTERVAL_MS, USE_LAPSES_MS } from '../../../src/p2p/identity-folder-use.ts';
import { FakeClock } from '../../fake-clock.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'identity-'));
});
afterEach(() => rm(directory, { recursive: true }));

function useOf(replica: string, clock = new FakeClock()) {
  return new IdentityFolderUse({ directory, clock, replica, description: `process of ${replica}` });
}

test('nobody else is seen by a process that is alone', async () => {
  await using use = useOf('a');
  expect([await use.look(), await use.look()]).toEqual([undefined, undefined]);
});

test('two see each other as soon as both have renewed their marks', async () => {
  await using a = useOf('a');
  await using b = useOf('b');
  await a.look();
  // A mark that is there may be of one who has crashed.
  expect(await b.look()).toBeUndefined();
  expect(await a.look()).toBeUndefined();
  expect(await b.look()).toBe('process of a');
  expect(await a.look()).toBe('process of b');
});

test('one that ends is not seen any more, and takes its mark along', async () => {
  await using a = useOf('a');
  {
    await using b = useOf('b');
    for (const use of [a, b, a, b, a]) await use.look();
    expect(await a.look()).toBe('process of b');
  }
  expect(await a.look()).toBeUndefined();
  expect(await readdir(directory)).toEqual(['in-use.a']);
});

test('one that was killed is forgotten, and its mark is removed in the end', async () => {
  const clock = new FakeClock();
  await using a = useOf('a', clock);
  const killed = useOf('b');
  for (const use of [a, killed, a, killed, a]) await use.look();
  await clock.advance(USE_LAPSES_MS - 1);
  expect(await a.look()).toBe('process of b');
  await clock.advance(1);
  expect(await a.look()).toBeUndefined();
  expect(await readdir(directory)).toContain('in-use.b');
  await clock.advance(60_000);
  await a.look();
  expect(await readdir(directory)).toEqual(['in-use.a']);
});

test('other files, and marks too long to be one, are not looked at', async () => {
  await using a = useOf('a');
  await a.look();
  for (const text of ['1', '2', '3'].map((each) => each.repeat(2_000))) {
    await writeFile(join(directory, 'in-use.long'), text);
    await writeFile(join(directory, 'staker.crt'), text);
    expect(await a.look()).toBeUndefined();
  }
});

test('a folder that is gone is no reason to fail', async () => {
  await using a = new IdentityFolderUse({
    directory: join(directory, 'gone'),
    clock: new FakeClock(),
    replica: 'a',
    description: 'a',
  });
  expect(await a.look()).toBeUndefined();
  expect(LOOK_INTERVAL_MS).toBeLessThan(USE_LAPSES_MS);
});
