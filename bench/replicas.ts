import { Agent } from 'undici';
import { startRedis } from '../test/network/redis-process.ts';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { newMessages, postMessage, untilReady } from './client.ts';
import { type ServiceProcess, startDevnetProcess, startService } from './processes.ts';
import { median, round } from './statistics.ts';

const DEFAULT_SIZES = [20, 200];
const ROUNDS = 40;
/** Messages between the rounds of replicas that have just started and those of warm ones. */
const WARM_UP = 300;
const BACKENDS = ['noble', 'native'] as const;

/**
 * Measures a repeated request with two replicas and one Redis: at the replica that signed the message, and at the other, which reads it from
 * Redis and verifies it.
 */
export async function benchReplicas({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const validators of sizes.length > 0 ? sizes : DEFAULT_SIZES) {
    for (const backend of BACKENDS) await benchSize(validators, backend, report);
  }
}

async function benchSize(validators: number, backend: string, report: (row: Row) => void): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent({ bodyTimeout: 0, headersTimeout: 0 });
  opened.defer(() => agent.close());
  const redis = opened.use(await startRedis());
  const devnet = opened.use(await startDevnetProcess(validators));
  const settings = {
    network: { pChainApi: [{ baseUrl: devnet.apiUrl }] },
    bls: { backend },
    store: { sharedUrl: `redis://127.0.0.1:${redis.port}`, sharedSecret: 'the secret of a benchmark' },
  };
  const one = opened.use(await startService(settings));
  const other = opened.use(await startService(settings));
  for (const { url } of [one, other]) await untilReady(url, agent);

  const post = async ({ url }: ServiceProcess, message: string): Promise<number> =>
    (await postMessage(url, message, agent)).ms;
  const [first = '', ...messages] = await newMessages(devnet.url, 1 + ROUNDS + WARM_UP + ROUNDS);
  // Decodes the public keys.
  for (const service of [one, other]) await post(service, first);
  const measure = async (replicas: string, count: number): Promise<void> => {
    const figures = { distinct: [] as number[], same: [] as number[], other: [] as number[] };
    for (const message of messages.splice(0, count)) {
      figures.distinct.push(await post(one, message));
      figures.same.push(await post(one, message));
      figures.other.push(await post(other, message));
    }
    const [sameMs, otherMs] = [median(figures.same), median(figures.other)];
    report({
      name: `${validators} validators, ${backend}, ${replicas}`,
      n: count,
      distinct_ms: round(median(figures.distinct)),
      same_replica_ms: round(sameMs),
      other_replica_ms: round(otherMs),
      more_ms: round(otherMs - sameMs),
    });
  };
  await measure('just started', ROUNDS);
  await measure('warming up', WARM_UP);
  await measure('warm', ROUNDS);
}
