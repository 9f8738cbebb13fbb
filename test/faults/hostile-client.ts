import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import type { AppLimits } from '../../src/app/core.ts';
import { startStandIn } from '../integration/proxy/stand-in.ts';
import { upstreamSettings } from '../integration/proxy/upstream-service.ts';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import { createLogLines, type LogLines } from '../support/log-lines.ts';

export const POST_PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
/** Sent wherever a client may put a key; must never be logged. */
export const SECRET = 'the-key-of-a-client';
/** Longer than any answer may take: an aggregation without success ends after 6 s. */
const DEADLINE_MS = 8_000;

export interface RawAnswer {
  readonly status: number;
  /** Keys are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HostileService extends AsyncDisposable {
  readonly running: RunningService;
  readonly log: LogLines;
  readonly url: URL;
  open(): Socket;
  /** Writes bytes and reads until the service closes the connection; fails if it does not in time. */
  send(...pieces: readonly (string | Uint8Array)[]): Promise<RawAnswer[]>;
  /** Sends a POST of these bytes, with the right length by default. */
  post(body: string | Uint8Array, headers?: Readonly<Record<string, string>>, path?: string): Promise<RawAnswer>;
  /** Expects that the service answers a valid request, and has logged no key and no bug. */
  expectUnharmed(): Promise<void>;
}

/** Starts the whole service on a devnet, with its log and stand-ins of all upstreams. */
export async function startHostileService(limits: AppLimits = {}): Promise<HostileService> {
  await using opened = new AsyncDisposableStack();
  const standIn = opened.use(await startStandIn());
  const log = createLogLines();
  const settings = { logger: log.logger, upstream: upstreamSettings(standIn), limits };
  const running = opened.use(await startService(4, { settings }));
  const [message] = running.devnet.emitMessages(1);
  const url = new URL(running.app.url);
  const closing = opened.move();

  const open = (): Socket => {
    const socket = connect(Number(url.port), url.hostname);
    // A reset is one of the ways in which a connection may end.
    socket.on('error', () => undefined);
    return socket;
  };
  async function send(...pieces: readonly (string | Uint8Array)[]): Promise<RawAnswer[]> {
    const socket = open();
    for (const piece of pieces) socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
    return parseAnswers(await untilEnd(socket));
  }
  return {
    running,
    log,
    url,
    open,
    send,
    async post(body, headers = {}, path = POST_PATH) {
      const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
      const all = { 'content-type': 'application/json', 'content-length': String(bytes.length), ...headers };
      const [answer] = await send(request(`POST ${path}`, all), bytes);
      if (answer === undefined) throw new Error('no answer');
      return answer;
    },
    async expectUnharmed() {
      const { status } = await running.post({ message });
      expect(status).toBe(201);
      expect((await running.get('/health/live')).status).toBe(200);
      const logged = log.lines.join('');
      expect(logged).not.toContain(SECRET);
      expect(logged).not.toContain([...Buffer.from(SECRET)].join(','));
      expect(logged).not.toContain('unexpected error');
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Returns the head of a request with a key and connection: close. */
export function request(line: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = { host: 'x', 'x-service-api-key': SECRET, connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

async function untilEnd(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.once('close', () => resolve());
  const timer = setTimeout(
    () => reject(new Error(`not over after ${DEADLINE_MS} ms: ${Buffer.concat(chunks).toString()}`)),
    DEADLINE_MS,
  );
  try {
    await promise;
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** Parses consecutive answers with content-length. */
export function parseAnswers(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    const [first = '', ...lines] = bytes.toString('latin1', at, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => {
        const [name = '', ...value] = line.split(': ');
        return [name.toLowerCase(), value.join(': ')];
      }),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    const length = Number(headers['content-length'] ?? 0);
    answers.push({ status, headers, body: bytes.toString('utf8', end + 4, end + 4 + length) });
    at = end + 4 + length;
  }
  return answers;
}

/** Expects the error form, without internals or keys. */
export function expectErrorForm({ status, headers, body }: RawAnswer): void {
  const parsed = JSON.parse(body) as Record<string, unknown>;
  expect(Object.keys(parsed).filter((key) => key !== 'details')).toEqual(['message', 'statusCode', 'error', 'code']);
  expect(parsed['statusCode']).toBe(status);
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^[\x21-\x7e]{1,128}$/),
  });
  expect(body).not.toContain(SECRET);
  expect(body).not.toMatch(/node_modules|"stack"|\.ts:\d/);
}
