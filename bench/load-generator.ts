// node bench/load-generator.ts JOB: does one job of load (see load.ts), prints its result as a JSON line, and ends.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Pool } from 'undici';
import { AGGREGATION_PATH, JSON_HEADERS } from './client.ts';
import { type Answers, BODY_KINDS, type BodyKind, HOSTILE_CHAIN, type LoadJob, type LoadResult } from './load.ts';
import { createBodies, type RequestKind } from './load-requests.ts';
import { quantile, round } from './statistics.ts';

const TIMEOUT_S = 60;
/** Outstanding requests of an open loop; further ones are counted and not sent. */
const MAX_OUTSTANDING = 8_192;
const UNREAD_PATHS = ['/openapi.json', '/docs/json', '/metrics'];
const PIPELINED = 1_700;
const WARM_UP_S = 2;

type OpenLoopJob = LoadJob & { readonly perSecond: number };

/** Answers by their meaning: signed, rejected before any work, or other. */
class Tally {
  readonly #tookMs = { signed: [] as number[], refused: [] as number[], other: [] as number[] };
  errors = 0;
  unsent = 0;

  /** @param isOverload whether a 503 has the code `overloaded`, where the body was read */
  add(status: number, tookMs: number, isOverload = true): void {
    const isRefused = status === 429 || (status === 503 && isOverload);
    const kind = status === 201 ? 'signed' : isRefused ? 'refused' : 'other';
    this.#tookMs[kind].push(tookMs);
  }

  result(startedMs: number, endedMs: number): LoadResult {
    const { signed, refused, other } = this.#tookMs;
    return {
      startedMs,
      endedMs,
      signed: summarize(signed),
      refused: summarize(refused),
      other: summarize(other),
      errors: this.errors,
      unsent: this.unsent,
    };
  }
}

function summarize(tookMs: readonly number[]): Answers {
  const at = (part: number): number => round(quantile(tookMs, part));
  return { count: tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Each connection sends its next request after the answer to the previous one. */
async function closedLoop({ url, connections, seconds }: LoadJob, nextBody: () => string): Promise<LoadResult> {
  const tally = new Tally();
  const startedMs = Date.now();
  await new Promise<void>((resolve, reject) => {
    const running = autocannon(
      {
        url: `${url}${AGGREGATION_PATH}`,
        connections,
        duration: seconds,
        timeout: TIMEOUT_S,
        requests: [
          { method: 'POST', headers: JSON_HEADERS, setupRequest: (request) => ({ ...request, body: nextBody() }) },
        ],
      },
      (error: Error | null) => (error === null ? resolve() : reject(error)),
    );
    running.on('response', (_client, status, _bytes, tookMs) => tally.add(status, tookMs));
    running.on('reqError', () => {
      tally.errors += 1;
    });
  });
  return tally.result(startedMs, Date.now());
}

/**
 * Sends at a constant rate and measures each answer from the time its request was due. autocannon cannot: it sends the requests of a second
 * at its start, and none while an answer is missing.
 */
async function openLoop(job: OpenLoopJob, nextBody: () => string): Promise<LoadResult> {
  await warmUp(job, nextBody);
  return keepRate(job, nextBody);
}

/** Compiles this process's code with requests to a local server, because its slow start would count as the service's time. */
async function warmUp(job: OpenLoopJob, nextBody: () => string): Promise<void> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(503, JSON_HEADERS).end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const body = nextBody();
  await keepRate({ ...job, url: `http://127.0.0.1:${port}`, seconds: WARM_UP_S }, () => body);
  server.close();
}

async function keepRate(job: OpenLoopJob, nextBody: () => string): Promise<LoadResult> {
  const { url, connections, seconds, perSecond } = job;
  const tally = new Tally();
  const timeouts = { headersTimeout: TIMEOUT_S * 1_000, bodyTimeout: TIMEOUT_S * 1_000 };
  const pool = new Pool(url, { connections, pipelining: 1, ...timeouts });
  const startedMs = Date.now();
  const startMs = performance.now();
  let due = 0;
  let outstanding = 0;
  for (;;) {
    const elapsedMs = performance.now() - startMs;
    if (elapsedMs >= 1_000 * seconds) break;
    for (; due < (perSecond * elapsedMs) / 1_000; due += 1) {
      if (outstanding >= MAX_OUTSTANDING) {
        tally.unsent += 1;
        continue;
      }
      const dueMs = startMs + (1_000 * due) / perSecond;
      outstanding += 1;
      post(pool, nextBody())
        .then(
          ({ status, isOverload }) => tally.add(status, performance.now() - dueMs, isOverload),
          () => {
            tally.errors += 1;
          },
        )
        .finally(() => {
          outstanding -= 1;
        });
    }
    await sleep(1);
  }
  const endedMs = Date.now();
  for (let waitMs = 0; outstanding > 0 && waitMs < 10_000; waitMs += 50) await sleep(50);
  tally.errors += outstanding;
  const result = tally.result(startedMs, endedMs);
  await pool.destroy();
  return result;
}

interface Answer {
  readonly status: number;
  readonly isOverload: boolean;
}

function post(pool: Pool, body: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  let status = 0;
  let isOverload = false;
  pool.dispatch(
    { method: 'POST', path: AGGREGATION_PATH, headers: JSON_HEADERS, body },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, statusCode) => {
        status = statusCode;
      },
      onResponseData: (_controller, chunk) => {
        // Errors are short and arrive in one chunk.
        isOverload ||= status === 503 && chunk.includes('"overloaded"');
      },
      onResponseEnd: () => resolve({ status, isOverload }),
      onResponseError: (_controller, error) => reject(error),
    },
  );
  return promise;
}

/** Keeps connections that pipeline requests for long documents and read nothing, or that send only the start of a request. */
async function hold({ url, connections, seconds, kind }: LoadJob): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  const tally = new Tally();
  const startedMs = Date.now();
  const untilMs = performance.now() + 1_000 * seconds;
  const open = new Set<Socket>();
  const keep = async (index: number): Promise<void> => {
    const path = UNREAD_PATHS[index % UNREAD_PATHS.length];
    const asked = `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(PIPELINED);
    while (performance.now() < untilMs) {
      const socket = connect(Number(port), hostname);
      open.add(socket);
      socket.on('error', () => undefined);
      socket.pause();
      socket.write(kind === 'unread' ? asked : 'POST / HTTP/1.1\r\nhost: x\r\n');
      await Promise.race([once(socket, 'close').catch(() => undefined), sleep(untilMs - performance.now())]);
      open.delete(socket);
      socket.destroy();
      // The service closed the connection.
      if (performance.now() < untilMs) tally.errors += 1;
      await sleep(100);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => keep(index)));
  return tally.result(startedMs, Date.now());
}

/** Sends bodies, each over a new connection. */
async function sendBodies({ url, connections, seconds }: LoadJob, kind: BodyKind): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  const { path, bytes, pieces } = BODY_KINDS[kind];
  const coding = pieces === 'chunks' ? 'transfer-encoding: chunked' : `content-length: ${bytes + SURPLUS[pieces]}`;
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${coding}\r\n\r\n`;
  const body = pieces === 'chunks' ? `${'1\r\n[\r\n'.repeat(bytes)}0\r\n\r\n` : '['.repeat(bytes);
  const tally = new Tally();
  const startedMs = Date.now();
  const untilMs = performance.now() + 1_000 * seconds;
  const keep = async (index: number): Promise<void> => {
    const localAddress = CROWDS.has(kind) ? addressOf(index) : undefined;
    while (performance.now() < untilMs) {
      const socket = connect({ port: Number(port), host: hostname, localAddress }).setNoDelay(true);
      socket.on('error', () => undefined);
      const sentMs = performance.now();
      socket.once('data', (answer) => {
        tally.add(Number(answer.toString('latin1', 9, 12)), performance.now() - sentMs);
        socket.destroy();
      });
      const over = Promise.race([once(socket, 'close').catch(() => undefined), sleep(untilMs - performance.now())]);
      socket.write(head);
      if (pieces !== 'segments') socket.write(body);
      for (let at = 0; pieces === 'segments' && at < bytes && !socket.destroyed; at += 1) {
        socket.write('[');
        if (at % SEGMENTS_AT_ONCE === 0) await sleep(1);
      }
      await over;
      socket.destroy();
      if (!RECONNECTS_AT_ONCE.has(kind)) await sleep(100);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => keep(index)));
  return tally.result(startedMs, Date.now());
}

/** Sends one request over each connection, and opens the next one at once. A crowd starts together, from many addresses. */
async function reconnect({ url, devnetUrl, connections, seconds, kind }: LoadJob): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  const nextBody = await createBodies('refused', devnetUrl);
  const tally = new Tally();
  const startedMs = Date.now();
  const untilMs = performance.now() + 1_000 * seconds;
  const ask = async (index: number): Promise<void> => {
    const localAddress = kind === 'crowd' ? addressOf(index) : '127.0.0.1';
    const socket = connect({ port: Number(port), host: hostname, localAddress });
    const sentMs = performance.now();
    socket.on('error', () => {
      tally.errors += 1;
    });
    socket.once('data', (answer) => {
      tally.add(Number(answer.toString('latin1', 9, 12)), performance.now() - sentMs);
      socket.destroy();
    });
    const body = nextBody();
    const head = `POST ${AGGREGATION_PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    socket.write(kind === 'crowd' ? head + body : 'GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n');
    await Promise.race([once(socket, 'close').catch(() => undefined), sleep(TIMEOUT_S * 1_000)]);
    socket.destroy();
  };
  const keep = async (index: number): Promise<void> => {
    while (performance.now() < untilMs) await ask(index);
  };
  const all = Array.from({ length: connections }, (_, index) => index);
  if (kind === 'reconnecting') await Promise.all(all.map(keep));
  while (kind === 'crowd' && performance.now() < untilMs) await Promise.all(all.map(ask));
  return tally.result(startedMs, Date.now());
}

const CROWD_ADDRESSES = 200;
const CROWDS: ReadonlySet<BodyKind> = new Set(['crowd-in-pieces']);

function addressOf(index: number): string {
  return `127.0.1.${1 + (index % CROWD_ADDRESSES)}`;
}

/** Begins streams of events from many addresses, and reads a byte a second of each. */
async function streamSlowly({ url, devnetUrl, connections, seconds }: LoadJob): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  const nextBody = await createBodies('refused', devnetUrl);
  const tally = new Tally();
  const startedMs = Date.now();
  const untilMs = performance.now() + 1_000 * seconds;
  const keep = async (index: number): Promise<void> => {
    while (performance.now() < untilMs) {
      const sentMs = performance.now();
      const socket = connect({ port: Number(port), host: hostname, localAddress: addressOf(index) });
      socket.on('error', () => {
        tally.errors += 1;
      });
      const body = nextBody();
      socket.write(
        `POST ${AGGREGATION_PATH} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      const closed = once(socket, 'close').catch(() => undefined);
      let isAnswered = false;
      socket.on('readable', () => {
        if (isAnswered) return;
        isAnswered = true;
        tally.add(Number(String(socket.read(12)).slice(9)), performance.now() - sentMs);
      });
      while (performance.now() < untilMs && !socket.destroyed) {
        await Promise.race([closed, sleep(1_000)]);
        socket.read(1);
      }
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => keep(index)));
  return tally.result(startedMs, Date.now());
}

/** Asks for transactions that do not exist, each over its own connection. */
async function askForReceipts({ url, connections, seconds }: LoadJob): Promise<LoadResult> {
  const tally = new Tally();
  const pool = new Pool(url, { connections, pipelining: 1 });
  const startedMs = Date.now();
  const untilMs = performance.now() + 1_000 * seconds;
  const keep = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const sentMs = performance.now();
      const path = `${AGGREGATION_PATH}/0x${randomBytes(32).toString('hex')}?blockchainId=${HOSTILE_CHAIN}`;
      const { statusCode, body } = await pool.request({ method: 'GET', path });
      await body.dump();
      tally.add(statusCode, performance.now() - sentMs);
      // Clients wait after an error.
      await sleep(100);
    }
  };
  await Promise.all(Array.from({ length: connections }, keep));
  const result = tally.result(startedMs, Date.now());
  await pool.destroy();
  return result;
}

/** Sends nothing itself. */
async function haveValidatorsFlood({ devnetUrl, seconds }: LoadJob): Promise<LoadResult> {
  const tally = new Tally();
  const startedMs = Date.now();
  await fetch(`${devnetUrl}/flood/${seconds}`, { method: 'POST' });
  await sleep(1_000 * seconds);
  return tally.result(startedMs, Date.now());
}

/** Bytes that are declared and not sent. */
const SURPLUS = { segments: 0, none: 1 } as const;
const SEGMENTS_AT_ONCE = 100;
const RECONNECTS_AT_ONCE: ReadonlySet<BodyKind> = new Set([
  'short-one-byte-chunks',
  'chunks-to-nowhere',
  'crowd-in-pieces',
]);

async function run(job: LoadJob): Promise<LoadResult> {
  if (job.kind === 'unread' || job.kind === 'half-sent') return hold(job);
  if (job.kind === 'reconnecting' || job.kind === 'crowd') return reconnect(job);
  if (job.kind === 'slow-streams') return streamSlowly(job);
  if (job.kind === 'receipts') return askForReceipts(job);
  if (job.kind === 'validators') return haveValidatorsFlood(job);
  if (job.kind in BODY_KINDS) return sendBodies(job, job.kind as BodyKind);
  const nextBody = await createBodies(job.kind as RequestKind, job.devnetUrl);
  const { perSecond } = job;
  return perSecond === undefined ? closedLoop(job, nextBody) : openLoop({ ...job, perSecond }, nextBody);
}

console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '') as LoadJob)));
process.exit(0);
