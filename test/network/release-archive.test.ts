import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { buildArchives } from '../../scripts/release-archive.ts';
import { startDevnet } from '../../src/devnet/devnet.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { signByGoApi, startGoBinary } from '../integration/service/go-binary-process.ts';

const TIMEOUT_MS = 5 * 60_000;

const folder = mkdtempSync(join(tmpdir(), 'release-archive-'));
afterAll(() => rmSync(folder, { recursive: true }));

test(
  'a release runs in place of the Go aggregator, as one process, with its own Node',
  async () => {
    const [archive, bin] = [join(folder, 'archive'), join(folder, 'bin')];
    mkdirSync(archive);
    const [path = ''] = buildArchives(folder, [process.arch === 'x64' ? 'amd64' : 'arm64']);
    execFileSync('tar', ['-xzf', path, '-C', archive]);
    // What the script calls, and no Node.
    mkdirSync(bin);
    for (const tool of ['dirname', 'readlink', 'tr', 'uname']) symlinkSync(join('/usr/bin', tool), join(bin, tool));

    const own = execFileSync(join(archive, 'warp-signature-aggregator'), ['--version'], { env: { PATH: bin } });
    expect(String(own)).toBe(`${packageJson.version}\n`);

    await using devnet = await startDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') });
    const api = { 'base-url': devnet.apiUrl };
    const file = join(folder, 'config.json');
    const ports = { 'api-port': 0, 'metrics-port': 0 };
    writeFileSync(file, JSON.stringify({ 'p-chain-api': api, 'info-api': api, 'allow-private-ips': true, ...ports }));
    await using binary = await startGoBinary(join(archive, 'signature-aggregator'), ['--config-file', file], {
      PATH: bin,
    });
    const [message = ''] = devnet.emitMessages(1);
    expect(await signByGoApi(binary.urls[0], message)).toMatchObject({ status: 200 });
    const { pid } = binary.child;
    expect(readlinkSync(`/proc/${pid}/exe`)).toBe(join(archive, 'node'));
    expect(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')).toBe('');
  },
  TIMEOUT_MS,
);
