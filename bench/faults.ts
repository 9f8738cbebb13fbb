import { Agent } from 'undici';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { startDevnetProcess, startService } from './processes.ts';
import { newMessages, postMessage, resources, untilReady } from './service.ts';
import { median, round } from './statistics.ts';

const DEFAULT_SIZES = [20];
const ROUNDS = 30;
/** Seeds of mixed misbehaviour. */
const SEEDS = [1, 2, 3];

/**
 * Distinct requests one at a time, before validators that are all healthy, of which two are slow by a second, and of which a third of
 * the weight misbehaves in mixed ways, all told before the service starts. The first request, in which the service learns of it, is
 * apart.
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

async function measure(validators: number, how: string, seed: number): Promise<Omit<Row, 'name'>> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent();
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(validators, how, String(seed)));
  const { url } = opened.use(await startService({ network: { pChainApi: [{ baseUrl: devnet.apiUrl }] } }));
  await untilReady(url, agent);
  const post = (message: string): Promise<number> => postMessage(url, message, agent);
  const [first = '', ...others] = await newMessages(devnet.url, 1 + ROUNDS);
  const firstMs = await post(first);
  const before = await resources(url);
  const times: number[] = [];
  for (const message of others) times.push(await post(message));
  const after = await resources(url);
  return {
    first_ms: round(firstMs),
    n: ROUNDS,
    p50_ms: round(median(times)),
    max_ms: round(Math.max(...times)),
    cpu_ms: round(((after.cpu_s - before.cpu_s) * 1000) / ROUNDS),
  };
}
