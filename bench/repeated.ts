import autocannon from 'autocannon';
import { Agent } from 'undici';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { AGGREGATION_PATH, bodyOf, JSON_HEADERS, newMessages, postMessage, untilReady } from './client.ts';
import { startDevnetProcess, startProcess, startService } from './processes.ts';
import { median, round } from './statistics.ts';

const DEFAULT_VALIDATORS = [5];
const CONNECTIONS = [1, 64];
/** The least share of the bare route's requests, by connections. */
const BARS: Readonly<Record<number, number>> = { 1: 0.6, 64: 0.55 };
/** Alternating rounds, so that noise of the machine affects both servers alike; a ratio is the median of its rounds. */
const ROUNDS = 10;
/** autocannon counts in whole seconds. */
const ROUND_S = 1;
/** Until V8 has compiled what is hot. */
const WARM_UP_S = 3;

/**
 * Compares a request that is answered from memory with a bare route of Fastify that parses the same body and answers the same bytes.
 * Devnet, servers and client run in separate processes. Numbers: validators.
 */
export async function benchRepeated({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const validators of sizes.length > 0 ? sizes : DEFAULT_VALIDATORS) await benchSize(validators, report);
}

async function benchSize(validators: number, report: (row: Row) => void): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent();
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(validators));
  const service = opened.use(await startService({ network: { pChainApi: [{ baseUrl: devnet.apiUrl }] } }));
  await untilReady(service.url, agent);
  const [message = ''] = await newMessages(devnet.url, 1);
  const body = bodyOf(message);
  const { text: answer } = await postMessage(service.url, message, agent);
  const bare = opened.use(await startProcess(['bench/bare-route.ts', AGGREGATION_PATH, answer]));
  const targets = [
    { name: 'bare route', url: String(bare.announced['url']) },
    { name: 'service', url: service.url },
  ];

  for (const connections of CONNECTIONS) {
    for (const { url } of targets) await load(url, body, connections, WARM_UP_S);
    const perSecond = targets.map(() => [] as number[]);
    for (let turn = 0; turn < ROUNDS; turn += 1) {
      const inTurn = [...targets.entries()];
      for (const [index, { url }] of turn % 2 === 0 ? inTurn : inTurn.reverse()) {
        perSecond[index]?.push(await load(url, body, connections, ROUND_S));
      }
    }
    const [ofBare = []] = perSecond;
    const bar = BARS[connections];
    for (const [index, { name }] of targets.entries()) {
      const rates = perSecond[index] ?? [];
      const ratios = rates.map((rate, turn) => rate / (ofBare[turn] ?? Number.NaN));
      report({
        name: `${connections} connections: ${name}`,
        n: ROUNDS,
        per_s: Math.round(median(rates)),
        of_bare: round(median(ratios)),
        ...(name === 'service' && bar !== undefined && { bar }),
      });
    }
  }
}

/** Each connection sends its next request when it has the answer to the one before. @returns answers a second */
async function load(url: string, body: string, connections: number, seconds: number): Promise<number> {
  const { non2xx, errors, duration, ...result } = await autocannon({
    url: `${url}${AGGREGATION_PATH}`,
    method: 'POST',
    headers: JSON_HEADERS,
    body,
    connections,
    duration: seconds,
  });
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests of ${connections} connections failed`);
  return result['2xx'] / duration;
}
