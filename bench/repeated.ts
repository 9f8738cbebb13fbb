import autocannon from 'autocannon';
import { Agent, request } from 'undici';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { AGGREGATION_PATH } from './load.ts';
import { bodyOf } from './load-requests.ts';
import { startDevnetProcess, startProcess, startService } from './processes.ts';
import { newMessages, untilReady } from './service.ts';
import { median, round } from './statistics.ts';

const DEFAULT_VALIDATORS = [5];
const CONNECTIONS = [1, 64];
/** The least share of the bare route's requests, by connections. */
const BARS: Readonly<Record<number, number>> = { 1: 0.6, 64: 0.55 };
/** Rounds over both servers in turns, to and fro, so that both have the same of a noisy machine; a ratio is the median of its rounds'. */
const ROUNDS = 10;
/** autocannon counts in whole seconds. */
const ROUND_S = 1;
/** Until V8 has compiled what is hot. */
const WARM_UP_S = 3;
const HEADERS = { 'content-type': 'application/json' };

/**
 * A request that is answered from memory, against a bare route of Fastify that parses the same body and answers the same bytes; the
 * embedded network, each server and this client have a process of their own. Numbers: validators.
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
  const answer = await post(service.url, body, agent);
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
        ...{ n: ROUNDS, per_s: Math.round(median(rates)), of_bare: round(median(ratios)) },
        ...(name === 'service' && bar !== undefined && { bar }),
      });
    }
  }
}

/** @returns the answer, as its text. @throws where it was not signed */
async function post(url: string, body: string, agent: Agent): Promise<string> {
  const answer = await request(`${url}${AGGREGATION_PATH}`, {
    ...{ method: 'POST', dispatcher: agent, headers: HEADERS, body },
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 201) throw new Error(`status ${answer.statusCode}: ${text}`);
  return text;
}

/** Each connection sends its next request when it has the answer to the one before. @returns answers a second */
async function load(url: string, body: string, connections: number, seconds: number): Promise<number> {
  const { non2xx, errors, duration, ...result } = await autocannon({
    ...{ url: `${url}${AGGREGATION_PATH}`, method: 'POST', headers: HEADERS, body },
    ...{ connections, duration: seconds },
  });
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests of ${connections} connections failed`);
  return result['2xx'] / duration;
}
