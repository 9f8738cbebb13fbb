import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startPrometheus } from '../../network/prometheus-process.ts';
import { startRedis } from '../../network/redis-process.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'missing-programs-'));
  vi.stubEnv('PATH', folder);
  vi.stubEnv('TMPDIR', folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test.each([
  ['redis-server', () => startRedis()],
  ['prometheus', () => startPrometheus({ target: '127.0.0.1:1', rules: '' })],
])(
  'where %s is missing, the tests that need it say how to install it, and leave nothing behind',
  async (name, start) => {
    await expect(start()).rejects.toThrow(`${name} is not installed`);
    expect(readdirSync(folder)).toEqual([]);
  },
);
