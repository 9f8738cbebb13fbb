import { readdirSync, readFileSync } from 'node:fs';
import * as blst from '@chainsafe/blst';
import { Agent } from 'undici';
import { type BackendName, loadBackend } from '../src/bls/backends/load-backend.ts';
import { PublicKeyTable } from '../src/bls/backends/public-key-table.ts';
import { type BlsJob, runBlsJob } from '../src/bls/service/bls-jobs.ts';
import { bytesToHex } from '../src/lib/encoding/bytes.ts';
import type { BenchmarkOptions } from './benchmark.ts';
import { startDevnetProcess, startService } from './processes.ts';
import { newMessages, postMessage, untilReady } from './service.ts';
import { type JobCosts, simulateWorkers } from './simulated-workers.ts';
import { median, round } from './statistics.ts';

const DEFAULT_THREADS = [1, 2, 4, 8, 16, 32, 64];
/** What this machine has cores for. */
const MEASURED_THREADS = [1, 2];
const BACKENDS: readonly BackendName[] = ['noble', 'native'];
const VALIDATORS = 5;
/** Of five, so many are needed. */
const SIGNERS = 3;
const CLIENTS = 16;
/** Simulated: more than the event loop and 64 threads can have under way together. */
const MOST_CLIENTS = 256;
const SIMULATED_MS = 3_000;
const REQUESTS = 240;
const WARM_UP_REQUESTS = 160;
const JOB_ROUNDS = 60;
const BATCH = 8;

/**
 * Distinct requests on five validators with one and two BLS threads, as measured, and with more in a simulation of the queue
 * (`simulated-workers.ts`): with the jobs' times of this machine, and with what its event loop takes for a request.
 */
export async function benchWorkers({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const backend of BACKENDS) {
    const costs = await measureJobs(backend);
    report({ name: `${backend}: milliseconds of a job`, ...shown(costs) });
    let loopMs = Number.NaN;
    for (const threads of MEASURED_THREADS) {
      const measured = await measureService(backend, threads);
      loopMs = measured.loopMs;
      report({
        name: `${backend}, ${threads} threads: measured`,
        per_s: round(measured.perSecond, 1),
        loop_ms: round(loopMs),
      });
    }
    for (const threads of sizes.length > 0 ? sizes : DEFAULT_THREADS) {
      const clients = Math.min(CLIENTS * threads, MOST_CLIENTS);
      const result = await simulateWorkers({
        ...{ threads, clients, signers: SIGNERS, costs, loopMs, durationMs: SIMULATED_MS },
      });
      report({
        name: `${backend}, ${threads} threads: simulated`,
        per_s: round(result.perSecond, 1),
        threads_busy: round(result.threadsBusy),
        loop_busy: round(result.loopBusy),
        longest_wait_ms: round(result.longestWaitMs, 1),
      });
    }
  }
}

/** Of each kind of job in this thread, the median: single ones may have been interrupted. */
async function measureJobs(name: BackendName): Promise<JobCosts> {
  const backend = await loadBackend(name);
  const table = new PublicKeyTable(backend.packedPublicKeyBytes);
  const secrets = Array.from({ length: SIGNERS }, (_, index) =>
    blst.SecretKey.fromKeygen(new Uint8Array(32).fill(index + 1)),
  );
  const slots = secrets.map((secret) => {
    const publicKey = secret.toPublicKey().toBytes();
    return table.slotOf(bytesToHex(publicKey), publicKey);
  });
  const times = { hash: [], one: [], all: [], aggregate: [], check: [], checks: [] } as Record<string, number[]>;
  const timed = <T>(what: string, work: () => T): T => {
    const startMs = performance.now();
    const result = work();
    times[what]?.push(performance.now() - startMs);
    return result;
  };
  for (let index = 0; index < JOB_ROUNDS; index += 1) {
    const message = Buffer.from(`message ${index}`);
    const signatures = secrets.map((secret) => secret.sign(message).toBytes());
    const add = (count: number): BlsJob<'add'> => ({
      ...{ kind: 'add', keys: table.memory, slots: slots.slice(0, count), sum: undefined },
      signatures: Buffer.concat(signatures.slice(0, count)),
    });
    const hashed =
      backend.hashesWhenVerifying === true
        ? message
        : timed('hash', () => runBlsJob<'hash'>(backend, { kind: 'hash', message }));
    timed('one', () => runBlsJob<'add'>(backend, add(1)));
    const { sum } = timed('all', () => runBlsJob<'add'>(backend, add(SIGNERS)));
    if (sum === undefined) throw new Error('there is no sum');
    const made = timed('aggregate', () => runBlsJob<'aggregate'>(backend, { kind: 'aggregate', sums: [sum] }));
    const check = { ...made, message: hashed };
    timed('check', () => runBlsJob<'verify'>(backend, { kind: 'verify', checks: [check] }));
    const checks = Array.from({ length: BATCH }, () => check);
    timed('checks', () => runBlsJob<'verify'>(backend, { kind: 'verify', checks }));
  }
  const of = (what: string): number => median(times[what] ?? []);
  const addEachMs = Math.max(0, of('all') - of('one')) / (SIGNERS - 1);
  return {
    hashMs: backend.hashesWhenVerifying === true ? undefined : of('hash'),
    ...{ addMs: Math.max(0, of('one') - addEachMs), addEachMs, aggregateMs: of('aggregate') },
    ...{ checkMs: of('check'), furtherCheckMs: Math.max(0, of('checks') - of('check')) / (BATCH - 1) },
  };
}

async function measureService(
  backend: BackendName,
  workers: number,
): Promise<{ readonly perSecond: number; readonly loopMs: number }> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent({ connections: CLIENTS, bodyTimeout: 0, headersTimeout: 0 });
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(VALIDATORS));
  const { url, pid } = opened.use(
    await startService({
      network: { pChainApi: [{ baseUrl: devnet.apiUrl }] },
      bls: { backend, workers },
    }),
  );
  await untilReady(url, agent);
  const load = async (count: number): Promise<void> => {
    const messages = await newMessages(devnet.url, count);
    const client = async (): Promise<void> => {
      for (let next = messages.pop(); next !== undefined; next = messages.pop()) await postMessage(url, next, agent);
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
  };
  await load(WARM_UP_REQUESTS);
  const [before, startMs] = [mainThreadMs(pid), performance.now()];
  await load(REQUESTS);
  return {
    perSecond: (1_000 * REQUESTS) / (performance.now() - startMs),
    loopMs: (mainThreadMs(pid) - before) / REQUESTS,
  };
}

/** CPU time of the first thread of a process, in which its event loop runs; where the system says it. */
function mainThreadMs(pid: number): number {
  try {
    if (!readdirSync(`/proc/${pid}/task`).includes(String(pid))) return Number.NaN;
    // Nanoseconds on the processor stand first.
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return Number.NaN;
  }
}

function shown({ hashMs, addMs, addEachMs, aggregateMs, checkMs, furtherCheckMs }: JobCosts) {
  return {
    ...(hashMs !== undefined && { hash: round(hashMs) }),
    ...{ add: round(addMs), add_each: round(addEachMs), aggregate: round(aggregateMs) },
    ...{ check: round(checkMs), further_check: round(furtherCheckMs) },
  };
}
