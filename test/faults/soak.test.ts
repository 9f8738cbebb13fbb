import { once } from 'node:events';
import { Agent, request as send } from 'undici';
import { expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../src/devnet/devnet.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { type ServiceChild, startServiceChild } from '../integration/service/service-child.ts';
import { POST_PATH, request } from './hostile-client.ts';
import { type Holdings, INSPECT_FLAG, inspectProcess } from './inspected-process.ts';

/** The rounds take some 10 s on an idle machine. */
const TIMEOUT_MS = 300_000;
/** Time until all work of a round has ended: abandoned requests and idle connections take longest. */
const QUIET_TIMEOUT_MS = 30_000;
const QUIET_INTERVAL_MS = 250;
/** Fill code caches, API connections and validator histories. */
const WARM_UP_ROUNDS = 2;
/** The first half is compared with the second. */
const ROUNDS = 4;
const VALIDATORS = 5;
const AT_A_TIME = 8;

/** Requests of each kind in one round. */
const COUNTS = { repeated: 100, distinct: 24, refused: 8, garbage: 60, documents: 16, leaving: 32 };
/** Fluctuation of API connections and timers. A leak of the rarest kind of request would exceed it after the second round. */
const MAX_MORE = 6;
/**
 * Bound of the growth per request. Caches that are not full keep a few hundred bytes on average: 3 KB of each distinct message, one of ten
 * requests. A leaked request, connection or aggregation has 5 to 20 KB.
 */
const MAX_BYTES_PER_REQUEST = 2 * 1024;

const KEPT = { connection: 'keep-alive' };
const GARBAGE = ['{"message":', '{"message":"0x0g"}', '{"message":12}', '[]', '['.repeat(2_000), '{"unknown":true}'];

type Job = () => Promise<void>;

/** Sends mixed requests, most of them valid, with clients that disconnect at every point. */
class Load {
  readonly #devnet: Devnet;
  readonly #service: ServiceChild;
  readonly #url: string;
  readonly #known: string;
  #refused = 0;
  readonly statuses = new Map<string, number>();

  constructor(devnet: Devnet, service: ServiceChild, url: string) {
    this.#devnet = devnet;
    this.#service = service;
    this.#url = url;
    this.#known = bodyOf(devnet.emitMessages(1)[0]);
  }

  async round(): Promise<void> {
    await using agent = disposable(new Agent({ connections: AT_A_TIME }));
    const post = (kind: string, body: string) => () =>
      this.#ask(agent, kind, { method: 'POST', path: POST_PATH, body });
    const times = (count: number, job: (number: number) => Job): Job[] =>
      Array.from({ length: count }, (_, i) => job(i));
    const distinct = (count: number) => this.#devnet.emitMessages(count).map(bodyOf);
    const jobs = [
      times(COUNTS.repeated, () => post('repeated', this.#known)),
      distinct(COUNTS.distinct).map((body) => post('distinct', body)),
      times(COUNTS.refused, () => post('refused', this.#unknown())),
      times(COUNTS.garbage, (number) => post('garbage', GARBAGE[number % GARBAGE.length] as string)),
      times(COUNTS.documents, () => () => this.#ask(agent, 'document', { method: 'GET', path: '/openapi.json' })),
      distinct(COUNTS.leaving).map((body, number) => () => this.#leave(body, number)),
    ];
    // Spread evenly.
    const mixed = jobs.flatMap((kind) => kind.map((job, number) => ({ job, at: number / kind.length })));
    mixed.sort((a, b) => a.at - b.at);
    const rest = mixed.values();
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        for (const { job } of rest) await job();
      }),
    );
  }

  async #ask(dispatcher: Agent, kind: string, options: { method: 'GET' | 'POST'; path: string; body?: string }) {
    const headers = { 'content-type': 'application/json' };
    const { path, ...rest } = options;
    const { statusCode, body } = await send(`${this.#url}${path}`, { ...rest, headers, dispatcher });
    await body.dump({ limit: Number.POSITIVE_INFINITY });
    const key = `${kind} ${statusCode}`;
    this.statuses.set(key, (this.statuses.get(key) ?? 0) + 1);
  }

  /** Disconnects in the head, in the body, during the work, or with unread answers. */
  async #leave(body: string, number: number): Promise<void> {
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length), ...KEPT };
    const head = request(`POST ${POST_PATH}`, headers);
    const pieces = [head.slice(0, -10), `${head}{"mess`, head + body, request('GET /openapi.json', KEPT).repeat(20)];
    const socket = await this.#service.connect();
    socket.on('error', () => undefined);
    const bytes = pieces[number % pieces.length] as string;
    const closed = once(socket, 'close');
    if (number % 8 < 4) {
      socket.write(bytes, () => socket.resetAndDestroy());
    } else {
      // The service has begun to answer.
      const begun = once(socket, 'data');
      socket.write(request('GET /health/live', KEPT) + bytes);
      await begun;
      socket.destroy();
    }
    await closed;
  }

  #unknown(): string {
    this.#refused += 1;
    return bodyOf(bytesToHex(this.#devnet.chains.C.prepare(Buffer.from(`unknown ${this.#refused}`)).bytes));
  }
}

function bodyOf(message: string | undefined): string {
  return JSON.stringify({ message });
}

function disposable(agent: Agent): Agent & AsyncDisposable {
  return Object.assign(agent, { [Symbol.asyncDispose]: () => agent.destroy() });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

test(
  'a service does not grow under mixed load with clients that disconnect at every point',
  async () => {
    const logger = createLogger('silent');
    await using devnet = await startDevnet({ validators: VALIDATORS, clock: systemClock, logger });
    const local = { aliases: ['fuji'], pChainApi: [{ baseUrl: devnet.apiUrl }] };
    await using service = await startServiceChild({ networks: { local }, server: { port: 0 } }, [INSPECT_FLAG]);
    const url = await service.url();
    await expect.poll(async () => (await service.get('/health/ready')).status, { timeout: 30_000 }).toBe(200);
    using inspected = await inspectProcess(service.log.tail());
    const load = new Load(devnet, service, url);

    async function quietHoldings(most: Pick<Holdings, 'sockets' | 'timers'>): Promise<Holdings> {
      let holdings = await inspected.holdings();
      const isQuiet = async () => {
        holdings = await inspected.holdings();
        const { sockets, timers } = holdings;
        return { sockets: Math.max(sockets, most.sockets), timers: Math.max(timers, most.timers) };
      };
      await expect.poll(isQuiet, { timeout: QUIET_TIMEOUT_MS, interval: QUIET_INTERVAL_MS }).toEqual(most);
      return holdings;
    }

    const idle = await inspected.holdings();
    const most = { sockets: idle.sockets + MAX_MORE, timers: idle.timers + MAX_MORE };
    const bytes: number[] = [];
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      await load.round();
      bytes.push((await quietHoldings(most)).bytes);
    }
    const warm = bytes.slice(WARM_UP_ROUNDS);
    // The least of each half, which ignores a garbage collection at a bad time.
    const growth = Math.min(...warm.slice(ROUNDS / 2)) - Math.min(...warm.slice(0, ROUNDS / 2));
    const requests = (ROUNDS / 2) * sum(Object.values(COUNTS));
    expect(growth / requests, `bytes after each round: ${bytes.join(', ')}`).toBeLessThan(MAX_BYTES_PER_REQUEST);

    // On a busy machine the service may refuse a part of this load.
    const rounds = WARM_UP_ROUNDS + ROUNDS;
    const shareOf = (kind: string, status: number, count: number): number =>
      (load.statuses.get(`${kind} ${status}`) ?? 0) / (rounds * count);
    expect(shareOf('garbage', 400, COUNTS.garbage)).toBe(1);
    expect(shareOf('document', 200, COUNTS.documents)).toBe(1);
    expect(shareOf('repeated', 201, COUNTS.repeated)).toBeGreaterThan(0.5);
    expect(shareOf('distinct', 201, COUNTS.distinct)).toBeGreaterThan(0.5);
    expect(shareOf('refused', 201, COUNTS.refused)).toBe(0);
  },
  TIMEOUT_MS,
);
