import { Agent } from 'undici';
import type { BenchmarkOptions, Figures } from './benchmark.ts';
import { newMessages, postMessage, untilReady } from './client.ts';
import { cpuMs, startDevnetProcess, startService } from './processes.ts';
import { median, round } from './statistics.ts';

const DEFAULT_SIZES = [20];
const ROUNDS = 30;
const SEEDS = [1, 2, 3];

/**
 * Sends distinct requests one at a time, with validators that are healthy, of which two are slow by a second, or of which a third of the
 * weight misbehaves from a seed. The first request is measured separately: from it the service learns which validators to ask last.
 */
export async function benchFaults({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const validators of sizes.length > 0 ? sizes : DEFAULT_SIZES) {
    const name = (what: string): string => `${validators} validators: ${what}`;
    report({ name: name('all healthy'), ...(await measure(validators, 'none', 0)) });
    report({ name: name('two slow by 1 s'), ...(await measure(validators, 'slow', 0)) });
    for (const seed of SEEDS) {
      report({ name: name(`33 % misbehaving, seed ${seed}`), ...(await measure(validators, 'mixed', seed)) });
    }
  }
}

async function measure(validators: number, how: string, seed: number): Promise<Figures> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent();
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(validators, how, String(seed)));
  const { url, pid } = opened.use(await startService({ network: { pChainApi: [{ baseUrl: devnet.apiUrl }] } }));
  await untilReady(url, agent);
  const [first = '', ...others] = await newMessages(devnet.url, 1 + ROUNDS);
  const { ms: firstMs } = await postMessage(url, first, agent);
  const beforeMs = cpuMs(pid);
  const times: number[] = [];
  for (const message of others) times.push((await postMessage(url, message, agent)).ms);
  const usedMs = cpuMs(pid) - beforeMs;
  return {
    first_ms: round(firstMs),
    n: ROUNDS,
    p50_ms: round(median(times)),
    max_ms: round(Math.max(...times)),
    cpu_ms: round(usedMs / ROUNDS),
  };
}
