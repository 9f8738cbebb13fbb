import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../../src/config/load/load-config.ts';

const NAME = 'warp-signature-aggregator.service';
const unit = readFileSync(join(import.meta.dirname, '../../../deploy/systemd', NAME), 'utf8');
const valuesOf = (setting: string): string[] =>
  [...unit.matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(([, value = '']) => value);

test('the variables that the systemd unit sets are settings, and lie in its folders', () => {
  const env = Object.fromEntries(
    valuesOf('Environment').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const networks = { local: { embedded: {} } };
  const { config } = parseConfig({ networks }, {}, env);
  expect(config.identity).toMatchObject({ directory: '%S/warp-signature-aggregator/identity' });
  expect(config.store.path).toBe('%S/warp-signature-aggregator/store');
  expect(valuesOf('StateDirectory')).toEqual(['warp-signature-aggregator']);
});

test('the systemd unit gives the service the time to stop that its defaults need', () => {
  const { drainDelayMs, shutdownTimeoutMs } = parseConfig({ networks: { local: { embedded: {} } } }, {}, {}).config
    .server;
  expect(Number(valuesOf('TimeoutStopSec')) * 1_000).toBeGreaterThanOrEqual(drainDelayMs + shutdownTimeoutMs + 10_000);
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

test.skipIf(!hasSystemd)('systemd knows every setting of the unit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'systemd-unit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, NAME);
  // It checks that the program is there.
  writeFileSync(path, unit.replaceAll('/usr/local/bin/warp-signature-aggregator', process.execPath));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
  expect({ status, ofUnit: stderr.split('\n').filter((line) => line.includes(NAME)) }).toEqual({
    status: 0,
    ofUnit: [],
  });
});

test.skipIf(!hasSystemd)('systemd calls the exposure of the service OK', () => {
  const folder = mkdtempSync(join(tmpdir(), 'systemd-unit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, NAME);
  writeFileSync(path, unit);
  const report = execFileSync('systemd-analyze', ['security', '--offline=true', path], { encoding: 'utf8' });
  expect(Number(/exposure level for .*: ([0-9.]+)/.exec(report)?.[1])).toBeLessThan(2.5);
});
