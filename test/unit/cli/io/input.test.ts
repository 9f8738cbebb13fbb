import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readTextFile } from '../../../../src/cli/io/input.ts';

test('a file may have as many bytes as are allowed, and no more', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'input-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'file');
  writeFileSync(path, 'é'.repeat(50));
  expect(await readTextFile(path, 100)).toBe('é'.repeat(50));
  await expect(readTextFile(path, 99)).rejects.toThrow(`${path} is too long: it may have 99 bytes`);
});
