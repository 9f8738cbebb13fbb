import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { collect } from '../unit/cli/run-command.ts';
import { readCase, rpcResult } from '../vectors/vectors.ts';
import { type RunningService, startService } from './service/running-service.ts';

/** Packing compiles, and each command starts a process. */
const TIMEOUT_MS = 120_000;
const ROOT = join(import.meta.dirname, '../..');
const NAME = 'warp-signature-aggregator';

interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: object;
  readonly optionalDependencies: object;
}

/** An empty folder in which the package was installed, as far as that needs no registry: its dependencies are those that are here. */
const folder = mkdtempSync(join(tmpdir(), 'package-'));
const installed = join(folder, 'node_modules', NAME);
const bin = join(folder, 'node_modules', '.bin', NAME);
let manifest: Manifest;
let service: RunningService;

beforeAll(async () => {
  const tarball = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, tarball.trim()), '--strip-components=1', '-C', installed]);
  manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest;
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    const [target, link] = [join(ROOT, 'node_modules', name), join(folder, 'node_modules', name)];
    mkdirSync(dirname(link), { recursive: true });
    if (existsSync(target)) symlinkSync(target, link);
  }
  mkdirSync(dirname(bin));
  for (const [name, path] of Object.entries(manifest.bin)) {
    const entry = join(installed, path);
    symlinkSync(entry, join(dirname(bin), name));
    chmodSync(entry, 0o755);
  }
  mkdirSync(join(folder, 'older'));
  writeFileSync(join(folder, 'older', 'node'), '#!/bin/sh\necho v20.0.0\n', { mode: 0o755 });
  service = await startService(5);
}, TIMEOUT_MS);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** By the script, with an older Node on PATH. */
const env = { PATH: `${join(folder, 'older')}:/usr/bin:/bin` };
const run = (args: readonly string[], input?: string) =>
  collect(spawn(bin, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] }), input);

test('has no TypeScript, no tests, and what it says of itself', { timeout: TIMEOUT_MS }, async () => {
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => /\.tsx?$|^(src|test|bench)\b/.test(file))).toEqual([]);
  expect(files).toEqual(
    expect.arrayContaining([
      'LICENSE',
      'README.md',
      join('config', 'fuji.json'),
      join('docs', 'commands.md'),
      join('dist', 'src', 'api', 'openapi', 'docs.css'),
    ]),
  );
  // The console has all files that its page names.
  const { createPageFiles } = (await import(join(installed, 'dist/src/console/server/page-files.js'))) as {
    createPageFiles(): () => Promise<ReadonlyMap<string, { readonly plain: { readonly bytes: Uint8Array } }>>;
  };
  const page = await createPageFiles()();
  const html = Buffer.from(page.get('index.html')?.plain.bytes ?? []).toString();
  const named = [...html.matchAll(/(?:href|src)="console\/([^"]+)"/g)].map(([, name]) => name as string);
  expect(named.sort()).toEqual(['app.js', 'icon.svg', 'style.css']);
  for (const name of named) expect(page.get(name), name).toBeDefined();
  expect(await run(['--version'])).toEqual({ code: 0, out: `${manifest.version}\n`, err: '' });
});

test('runs every command in an empty folder', { timeout: TIMEOUT_MS }, async () => {
  const { signed, unsignedMessage, rpc, effectiveSigningSubnet: subnetID } = readCase('c_warp_0');
  writeFileSync(join(folder, 'set.json'), JSON.stringify(rpcResult(rpc, 'platform.getValidatorsAt', { subnetID })));
  writeFileSync(join(folder, 'signed.hex'), bytesToHex(signed!.signedMessage));
  writeFileSync(
    join(folder, 'own.json'),
    JSON.stringify({ networks: { mine: { pChainApi: [{ baseUrl: service.devnet.apiUrl }] } } }),
  );
  const message = bytesToHex(service.devnet.chains.C.emit(Buffer.from('packed')).bytes);
  const identity = JSON.stringify({ networks: { fuji: { pChainApi: [] } } });
  writeFileSync(join(folder, 'wrong.json'), identity);
  const [decoded, verified, asked, collected, table, help, checked, health] = await Promise.all([
    run(['decode'], bytesToHex(unsignedMessage)),
    run(['verify', '--set', 'set.json', '--file', 'signed.hex']),
    run(['aggregate', '--url', service.app.url, message]),
    // With BLS threads, whose file has another name than in the source.
    run(['aggregate', '--config', 'own.json', message]),
    run(['subnet', '--url', service.app.url]),
    run(['serve', '--help']),
    run(['serve', '--check-config', '--config', join('node_modules', NAME, 'config', 'fuji.json')]),
    run(['health', '--port', new URL(service.app.url).port]),
  ]);
  expect(decoded).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^unsigned message\n/) });
  expect(verified).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^valid\n/) });
  expect(asked).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^[0-9a-f]{200,}\n$/) });
  expect(collected).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^[0-9a-f]{200,}\n$/) });
  expect(table).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/\nSTATUS /) });
  expect(help).toMatchObject({ code: 0, err: '', out: expect.stringContaining('--check-config') });
  expect(checked).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^ok: serves fuji/) });
  expect(health).toEqual({ code: 0, out: '', err: '' });
  expect(await run(['identity', '--config', 'own.json'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('set identity.directory'),
  });
});

test('has a second bin, in place of the Go binary, which finds its files through the link', {
  timeout: TIMEOUT_MS,
}, () => {
  const started = execFileSync(join(dirname(bin), 'signature-aggregator'), ['--version'], { env, encoding: 'utf8' });
  expect(started).toBe(`v${manifest.version}\n`);
});
