import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lockStore } from '../../../../src/store/local/store-lock.ts';

function createStore(): string {
  const directory = mkdtempSync(join(tmpdir(), 'store-lock-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

test('a store is locked until its lock is disposed of', () => {
  const directory = createStore();
  const first = lockStore(directory);
  expect(readdirSync(directory)).toEqual(['lock.sqlite']);
  const problem = `cannot open the store at ${directory}: another process uses it; give each service its own store.path`;
  expect(() => lockStore(directory)).toThrow(problem);
  first[Symbol.dispose]();
  using _again = lockStore(directory);
});

test('a folder in which no lock can be made is used without one', () => {
  expect(() => lockStore(join(createStore(), 'missing'))).not.toThrow();
});
