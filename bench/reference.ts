import { Agent, request } from 'undici';
import { buildReference, startReference } from '../test/network/reference-process.ts';
import type { BenchmarkOptions } from './benchmark.ts';
import { bodyOf, JSON_HEADERS, newMessages, untilReady } from './client.ts';
import { cpuMs, startDevnetProcess, startService } from './processes.ts';
import { median, round } from './statistics.ts';

const DEFAULTS = { validators: 20, rounds: 7, requests: 200 };
const CLIENTS = 16;
const WARM_UP_REQUESTS = 400;
const REFERENCE = 'reference';
/** Bars at the default number of validators: requests a second, divided by the reference's. */
const BARS = { noble: 2, native: 2.6 } as const;

interface System {
  readonly name: string;
  /** Address of the Go API. */
  readonly url: string;
  readonly pid: number;
  readonly bar?: number;
  readonly perSecond: number[];
  /** CPU time of each round's requests, which other work on the machine changes less than the rate. */
  readonly cpuMs: number[];
}

/**
 * Compares the Go aggregator with this service and either backend, in alternating rounds on one devnet; each runs in a separate process.
 * Sixteen clients send distinct messages to the Go API. Numbers: validators, rounds, requests of a round.
 */
export async function benchReference({ sizes, report }: BenchmarkOptions): Promise<void> {
  const [validators = DEFAULTS.validators, rounds = DEFAULTS.rounds, requests = DEFAULTS.requests] = sizes;
  const program = await buildReference({ isOptimized: true });
  await using opened = new AsyncDisposableStack();
  const agent = new Agent({ connections: CLIENTS });
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(validators));
  const reference = opened.use(await startReference(program, devnet.apiUrl, []));
  const systems: System[] = [{ ...reference, name: REFERENCE, perSecond: [], cpuMs: [] }];
  for (const [backend, bar] of Object.entries(BARS)) {
    const network = { pChainApi: [{ baseUrl: devnet.apiUrl }], goApi: { apiPort: 0 } };
    const service = opened.use(await startService({ network, bls: { backend } }));
    const { go } = service.announced as { readonly go: { readonly local: { readonly api: string } } };
    systems.push({ name: backend, url: go.local.api, pid: service.pid, bar, perSecond: [], cpuMs: [] });
  }

  /** @returns answers a second */
  const load = async ({ url }: System, count: number): Promise<number> => {
    const messages = (await newMessages(devnet.url, count)).values();
    const client = async (): Promise<void> => {
      for (const message of messages) await post(url, message, agent);
    };
    const startMs = performance.now();
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return (1_000 * count) / (performance.now() - startMs);
  };
  for (const system of systems) {
    await untilReady(system.url, agent, '/health');
    await load(system, WARM_UP_REQUESTS);
  }
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const system of turn % 2 === 0 ? systems : systems.toReversed()) {
      const beforeMs = cpuMs(system.pid);
      system.perSecond.push(await load(system, requests));
      system.cpuMs.push((cpuMs(system.pid) - beforeMs) / requests);
    }
  }
  const [{ perSecond: ofReference } = { perSecond: [] }] = systems;
  for (const { name, perSecond, cpuMs: cpu, bar } of systems) {
    const ratios = perSecond.map((value, turn) => value / (ofReference[turn] ?? Number.NaN));
    report({
      name: `${validators} validators, ${CLIENTS} clients: ${name}`,
      n: rounds,
      per_s: round(median(perSecond), 1),
      of_reference: round(median(ratios)),
      least_ratio: round(Math.min(...ratios)),
      most_ratio: round(Math.max(...ratios)),
      cpu_ms: round(median(cpu), 1),
      ...(bar !== undefined && validators === DEFAULTS.validators && { bar }),
    });
  }
}

/** @throws if the message is not signed */
async function post(url: string, message: string, agent: Agent): Promise<void> {
  const { statusCode, body } = await request(`${url}/aggregate-signatures`, {
    method: 'POST',
    dispatcher: agent,
    headers: JSON_HEADERS,
    body: bodyOf(message),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${url}: status ${statusCode}: ${text}`);
}
