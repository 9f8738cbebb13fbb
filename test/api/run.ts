// npm run test:api [-- REPORT]: generated clients, the client's package, and schemathesis, against the OpenAPI document of a running service, on the devnet and before
// a stand-in of every upstream. REPORT is a file to write the counts to, as JSON {passed, failed, skipped}.
//
// schemathesis and the generator for Python come from the registry of Python packages, each with its hash (requirements.txt), into a separate environment
// below .cache. Where there is no Python it is skipped, and says so.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { startApp } from '../../src/app/app.ts';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { startStandIn } from '../integration/proxy/stand-in.ts';
import { upstreamSettings } from '../integration/proxy/upstream-service.ts';
import { testClientPackage } from './client-package.ts';
import { testPythonClient, testTypeScriptClient } from './generated-clients.ts';
import { countOutcomes, type SchemathesisReport } from './outcomes.ts';

/** Bounds all requests together. */
const MIN_EXAMPLES = 5_000;
/** Random requests for each operation, besides those at the limits of each parameter. */
const EXAMPLES_OF_OPERATION = 130;
const START_TIMEOUT_MS = 30_000;
/** A package may have to be fetched from far away. */
const INSTALL_TIMEOUT_MS = 300_000;
/** It takes about two minutes on two processors. */
const RUN_TIMEOUT_MS = 600_000;
/** The oldest for which the packages of requirements.txt are there. */
const HAS_PYTHON = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))';

const HERE = import.meta.dirname;
const CACHE = join(HERE, '..', '..', '.cache');

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

async function testApi(): Promise<Counts> {
  await using service = await startService();
  const { url, message } = service;
  const bin = installPython();
  const problems = await Promise.all([
    testTypeScriptClient(url, message),
    testClientPackage(url, message),
    ...(bin === undefined ? [] : [testPythonClient(CACHE, bin, url, message)]),
  ]);
  const found = problems.filter((problem) => problem !== undefined);
  for (const problem of found) console.log(`a client failed: ${problem}`);
  // The client for Python, and schemathesis.
  const rest = bin === undefined ? { passed: 0, failed: 0, skipped: 2 } : await testBySchemathesis(bin, service);
  return {
    passed: rest.passed + problems.length - found.length,
    failed: rest.failed + found.length,
    skipped: rest.skipped,
  };
}

async function testBySchemathesis(bin: string, service: Awaited<ReturnType<typeof startService>>): Promise<Counts> {
  const report = join(CACHE, 'test-results', 'schemathesis.json');
  mkdirSync(join(CACHE, 'test-results'), { recursive: true });
  rmSync(report, { force: true });
  const exitCode = await runSchemathesis(join(bin, 'schemathesis'), service, report);
  const found = JSON.parse(readFileSync(report, 'utf8')) as SchemathesisReport;
  const { passed, failed, problems } = countOutcomes(found, MIN_EXAMPLES);
  for (const problem of problems) console.log(problem);
  console.log(`${found.test_cases.generated} requests were made, of at least ${MIN_EXAMPLES}`);
  // It knows of failures that belong to no operation.
  const isUncounted = exitCode !== 0 && failed === 0;
  return { passed, failed: failed + Number(isUncounted), skipped: 0 };
}

/**
 * Makes an environment of Python in a folder that is named after what is in it, so that it is made once for each list of packages.
 *
 * @returns the folder of its programs; undefined where there is no Python
 */
function installPython(): string | undefined {
  if (spawnSync('python3', ['-c', HAS_PYTHON]).status !== 0) {
    console.log('skipped: there is no python3 of version 3.11 or newer, with venv, in the path');
    return undefined;
  }
  const requirements = join(HERE, 'requirements.txt');
  const name = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16);
  const folder = join(CACHE, `schemathesis-${name}`);
  const bin = join(folder, 'bin');
  if (existsSync(join(folder, 'complete'))) return bin;
  rmSync(folder, { recursive: true, force: true });
  mustRun('python3', ['-m', 'venv', folder]);
  const only = ['--require-hashes', '--no-deps', '--only-binary', ':all:'];
  const quietly = ['--quiet', '--disable-pip-version-check'];
  mustRun(join(bin, 'pip'), ['install', ...quietly, ...only, '-r', requirements]);
  writeFileSync(join(folder, 'complete'), '');
  return bin;
}

function mustRun(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', timeout: INSTALL_TIMEOUT_MS });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`, { cause: error });
}

/** The service of `npm start`, with stand-ins for the upstreams. */
async function startService() {
  await using opened = new AsyncDisposableStack();
  const standIn = opened.use(await startStandIn());
  const networks = { local: { embedded: { validators: 5 }, aliases: ['mainnet', 'fuji', 'testnet'] } };
  const { config } = parseConfig({ networks, server: { port: 0 }, upstream: upstreamSettings(standIn) }, {}, {});
  const logger = createLogger('error');
  const app = opened.use(await startApp({ config, logger, clock: systemClock, random: Math.random }));
  await app.untilReady(AbortSignal.timeout(START_TIMEOUT_MS));
  const closing = opened.move();
  const examples = app.devnet?.examples('fuji') ?? [];
  const transactions = examples.filter(({ method }) => method === 'GET').map(({ path }) => path.replace(/^.*\//, ''));
  const [message = ''] = app.devnet?.emitMessages(1) ?? [];
  return { url: app.url, message, transactions, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

async function runSchemathesis(
  program: string,
  { url, transactions }: { readonly url: string; readonly transactions: readonly string[] },
  report: string,
): Promise<number> {
  const env = { ...process.env, PYTHONPATH: HERE, TEST_API_TRANSACTIONS: JSON.stringify(transactions) };
  const child = spawn(
    program,
    [
      '--config-file',
      join(HERE, 'schemathesis.toml'),
      'run',
      `${url}/openapi.json`,
      '--max-examples',
      String(EXAMPLES_OF_OPERATION),
      '--no-color',
      '--report',
      'json',
      '--report-json-path',
      report,
    ],
    // Its own module of checks is found from there.
    { cwd: HERE, env, stdio: ['ignore', 'inherit', 'inherit'], timeout: RUN_TIMEOUT_MS },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

const counts = await testApi();
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
const [, , reportPath] = process.argv;
if (reportPath !== undefined) writeFileSync(resolve(reportPath), JSON.stringify(counts));
process.exitCode = counts.failed > 0 ? 1 : 0;
