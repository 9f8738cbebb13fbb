import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import type { TSchema } from 'typebox';
import Schema, { type Validator } from 'typebox/schema';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import type { ProgressEvent, ProgressState } from '../../../../src/aggregation/collection/progress.ts';
import type { AggregationResult } from '../../../../src/aggregation/request/aggregation-request.ts';
import type { Aggregator } from '../../../../src/aggregation/stages/aggregator.ts';
import type { Caller } from '../../../../src/aggregation/stages/calls.ts';
import { AGGREGATION_EVENTS, type AggregationEventKind } from '../../../../src/api/aggregation/progress-records.ts';
import { aborted } from '../../../../src/lib/concurrency/deadline.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import type { LimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { readCase } from '../../../vectors/vectors.ts';
import { closed, createTestServer, PATH, portOf, RESULT, type TestServerOptions } from '../api-fixture.ts';

const message = bytesToHex(readCase('c_warp_0').unsignedMessage);
const BODY = JSON.stringify({ message, quorumPercentage: 60, quorumPercentageBuffer: 7 });
const EVENTS = { accept: 'text/event-stream' };
const OVERLOADED = new AggregatorError('overloaded', 'too much at once');
/** Beyond the time in which events are gathered. */
const GATHERED_MS = 20;
const HEARTBEAT_MS = 10_000;

/** Requests that go as the test says. */
function heldAggregator() {
  const waiters: Caller[] = [];
  const ending = Promise.withResolvers<AggregationResult>();
  ending.promise.catch(() => undefined);
  const aggregator: Aggregator = {
    async aggregate(_request, options) {
      waiters.push(options);
      await Promise.race([ending.promise, aborted(options.signal)]);
      options.signal.throwIfAborted();
      return ending.promise;
    },
  };
  return {
    aggregator,
    waiters,
    ...ending,
    tell: (...events: readonly ProgressEvent[]) => {
      for (const event of events) for (const { onProgress } of waiters) onProgress?.(event);
    },
  };
}

function stateOf(count: number): ProgressEvent {
  const validators: ProgressState['validators'] = Array.from({ length: count }, (_, index) => ({
    index,
    weight: BigInt(index + 1),
    isConnected: true,
    status: 'not_asked',
    nodeIDs: [nodeIDFromBytes(new Uint8Array(20).fill(index % 256))],
  }));
  return {
    kind: 'state',
    state: {
      signingSubnetID: PRIMARY_NETWORK_ID,
      pChainHeight: 7n,
      validators,
      isVerifying: false,
      totalWeight: 10n,
      neededWeight: 6n,
      targetWeight: 7n,
      signedWeight: 0n,
    },
  };
}

const ASKED: ProgressEvent = { kind: 'asked', index: 1 };
const SIGNED: ProgressEvent = {
  kind: 'outcome',
  index: 1,
  outcome: { kind: 'signed', signature: new Uint8Array(96) },
  signedWeight: 2n,
};

async function start(options: TestServerOptions = {}) {
  const held = heldAggregator();
  const clock = new FakeClock();
  const registry = new Registry();
  const log = createLogLines('info');
  const server = await createTestServer({
    aggregator: held.aggregator,
    clock,
    registry,
    logger: log.logger,
    ...options,
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => {
    server.server.closeAllConnections();
    return server.close();
  });
  const url = `http://127.0.0.1:${portOf(server)}${PATH}`;
  const responses: ServerResponse[] = [];
  server.server.on('request', (_request: IncomingMessage, response: ServerResponse) => responses.push(response));

  /** Waits until as many requests have come to the aggregator. */
  async function asked(count = 1): Promise<void> {
    while (held.waiters.length < count) await settle();
  }
  return {
    held,
    clock,
    registry,
    log,
    server,
    responses,
    asked,
    post: (headers: Record<string, string> = EVENTS, body = BODY) =>
      fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }),
    get: (path: string, init: RequestInit = {}) => fetch(`${url}${path}`, { headers: EVENTS, ...init }),
    /** Opens a connection that the test reads. */
    async open(): Promise<Socket> {
      const socket = connect(portOf(server), '127.0.0.1').pause();
      await once(socket, 'connect');
      const headers = `host: x\r\naccept: text/event-stream\r\ncontent-type: application/json`;
      socket.write(`POST ${PATH} HTTP/1.1\r\n${headers}\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`);
      return socket;
    },
  };
}

/** Checks of the events' data, which reject undescribed fields. */
const CHECKS = Object.fromEntries(
  Object.entries(AGGREGATION_EVENTS).map(([kind, schema]) => [kind, Schema.Compile(closed(schema) as TSchema)]),
) as Record<AggregationEventKind, Validator>;

interface Told {
  readonly event: string;
  readonly data: unknown;
}

/** Comments are left out, as clients do. */
function parse(stream: string): Told[] {
  const blocks = stream.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
  return blocks.map((block) => {
    const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
    expect(Object.keys(AGGREGATION_EVENTS)).toContain(event);
    expect(CHECKS[event as AggregationEventKind].Errors(JSON.parse(data))).toEqual([true, []]);
    return { event, data: JSON.parse(data) };
  });
}

describe('a stream', () => {
  test('reports the progress, and ends with the plain answer', async () => {
    const { post, held, asked, clock } = await start({ corsOrigins: ['*'] });
    const answer = post({ ...EVENTS, origin: 'https://a.example', 'x-request-id': 'mine' });
    await asked();
    held.tell(stateOf(2));
    await clock.advance(GATHERED_MS);
    const response = await answer;
    held.tell(ASKED, SIGNED);
    await clock.advance(GATHERED_MS);
    held.tell({ kind: 'verifying' });
    held.resolve(RESULT);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': 'mine',
      'access-control-allow-origin': '*',
    });
    const weights = { quorumWeight: '6', targetWeight: '7', totalWeight: '10' };
    const validator = { nodeIds: [expect.stringMatching(/^NodeID-/)], isConnected: true, status: 'not_asked' };
    const plain = await (await post({})).json();
    expect(parse(await response.text())).toEqual([
      {
        event: 'resolved',
        data: {
          network: 'fuji',
          signingSubnetId: PRIMARY_NETWORK_ID,
          pChainHeight: 7,
          isVerifying: false,
          quorumPercentage: 60,
          quorumPercentageBuffer: 7,
          signedWeight: '0',
          ...weights,
          validators: [
            { index: 0, weight: '1', ...validator },
            { index: 1, weight: '2', ...validator },
          ],
        },
      },
      { event: 'asked', data: { validators: [1] } },
      { event: 'answer', data: { answers: [{ index: 1, weight: '2', outcome: 'signed' }] } },
      { event: 'progress', data: { signedWeight: '2', ...weights } },
      { event: 'verifying', data: {} },
      { event: 'result', data: plain },
    ]);
  });

  test('of a cached result has the result only, and the answer to HEAD is that of the plain request', async () => {
    const { post, get, held } = await start();
    held.resolve(RESULT);
    for (const answer of [post(), get(`/${'1'.repeat(32)}LpoYY`)]) {
      const response = await answer;
      expect(response.status).toBe(200);
      expect(parse(await response.text()).map(({ event }) => event)).toEqual(['result']);
    }
    const head = await get(`/${'1'.repeat(32)}LpoYY`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type')]).toEqual([201, 'application/json']);
  });

  test('does not begin if the request fails before', async () => {
    const { post, held } = await start();
    const wrong = await post(EVENTS, '{}');
    expect([wrong.status, wrong.headers.get('content-type')]).toEqual([400, 'application/json']);
    held.reject(OVERLOADED);
    const refused = await post();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toEqual({
      message: 'too much at once',
      statusCode: 503,
      error: 'Service Unavailable',
      code: 'overloaded',
    });
  });

  test('that fails later ends with the error, and counts as one', async () => {
    const { post, held, asked, clock, registry, log } = await start();
    const answer = post();
    await asked();
    held.tell(stateOf(1));
    await clock.advance(GATHERED_MS);
    held.reject(OVERLOADED);
    const told = parse(await (await answer).text());
    expect(told.map(({ event }) => event)).toEqual(['resolved', 'error']);
    const plain = await post({});
    expect(plain.headers.get('retry-after')).toBe('1');
    expect(told[1]?.data).toEqual({ ...(await plain.json()), retryAfter: 1 });
    const requests = await registry.getSingleMetricAsString('signature_aggregator_http_requests_total');
    expect(requests).toContain('status="503"} 2');
    expect(requests).not.toContain('status="200"');
    expect(log.records().find(({ msg }) => msg === 'request')).toMatchObject({ status: 503, code: 'overloaded' });
  });

  test('is kept alive from the first ten seconds on, and fails as a stream from then on', async () => {
    const { post, held, asked, clock } = await start();
    const answer = post();
    await asked();
    await clock.advance(HEARTBEAT_MS - 1);
    expect(await Promise.race([answer, settle()])).toBeUndefined();
    await clock.advance(2 * HEARTBEAT_MS);
    held.reject(OVERLOADED);
    const response = await answer;
    expect(response.status).toBe(200);
    const stream = await response.text();
    expect(stream).toMatch(/^:\n\n:\n\nevent: error\n/);
  });

  test('ends the work and its timers when the client leaves', async () => {
    const { open, held, asked, clock, registry, responses } = await start();
    for (const hasBegun of [false, true]) {
      const socket = await open();
      await asked(held.waiters.length + 1);
      if (hasBegun) held.tell(stateOf(1));
      await clock.advance(GATHERED_MS);
      held.tell(ASKED);
      const closed = once(responses.at(-1)!, 'close');
      socket.destroy();
      await closed;
      await settle();
      expect(held.waiters.at(-1)?.signal.aborted).toBe(true);
      expect(clock.pendingTimers).toBe(0);
    }
    const requests = await registry.getSingleMetricAsString('signature_aggregator_http_requests_total');
    expect(requests).toContain('status="gone"} 2');
    const inFlight = await registry.getSingleMetricAsString('signature_aggregator_http_requests_in_flight');
    expect(inFlight).toMatch(/ 0$/);
  });

  test('that is not read holds one state, and sends the rest when it is read', async () => {
    const { open, held, asked, clock, responses } = await start();
    const socket = await open();
    await asked();
    const [response] = responses as [ServerResponse];
    const rounds = 300;
    const held1 = stateOf(2_000);
    let most = 0;
    for (let round = 0; round < rounds; round += 1) {
      held.tell({ ...held1 }, ASKED, SIGNED);
      await clock.advance(GATHERED_MS);
      await new Promise(setImmediate);
      most = Math.max(most, response.writableLength);
    }
    expect(response.writableNeedDrain).toBe(true);
    const snapshot = 300 * 1024;
    expect(most).toBeLessThan(2 * snapshot);
    held.tell({ kind: 'verifying' });
    let all = '';
    socket.on('data', (bytes: Buffer) => {
      all += bytes.toString();
    });
    socket.resume();
    await once(response, 'drain');
    await clock.advance(GATHERED_MS);
    while (!all.includes('event: verifying')) await once(socket, 'data');
    held.resolve(RESULT);
    while (!all.includes('event: result')) await once(socket, 'data');
    const events = all.match(/^event: \w+$/gm) ?? [];
    expect(events.length).toBeLessThan(rounds);
    expect(events.slice(-6)).toEqual(
      ['resolved', 'asked', 'answer', 'progress', 'verifying', 'result'].map((event) => `event: ${event}`),
    );
  }, 20_000);

  test('of a client that left while queued leaves no timer', async () => {
    const isIn = Promise.withResolvers<void>();
    const limits: LimitCounters = {
      async take(_key, ns) {
        await isIn.promise;
        return { isTaken: true, ns };
      },
      claim: () => Promise.reject(new Error('nothing is claimed')),
    };
    const access = { rules: { apiKeys: [], unitsPerMinute: 1_000 }, trustedProxies: [], limits };
    const { get, held, asked, clock, responses } = await start({ access });
    const leaving = new AbortController();
    const answer = get(`/${'1'.repeat(32)}LpoYY`, { headers: EVENTS, signal: leaving.signal });
    while (responses.length === 0) await settle();
    const closed = once(responses[0]!, 'close');
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await closed;
    isIn.resolve();
    await asked();
    await settle();
    expect(held.waiters[0]?.signal.aborted).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  test('continues to its end while the service stops', async () => {
    const { open, held, asked, clock, server } = await start();
    const socket = await open();
    await asked();
    held.tell(stateOf(2));
    await clock.advance(GATHERED_MS);
    const closed = server.close();
    held.tell(ASKED);
    await clock.advance(GATHERED_MS);
    held.resolve(RESULT);
    const all = await text(socket.resume());
    expect(all.match(/^event: \w+$/gm)).toEqual(['event: resolved', 'event: asked', 'event: result']);
    await closed;
  });
});

test('the document has the schema of each event', async () => {
  const { server } = await start();
  const { paths, components } = (await server.inject('/openapi.json')).json();
  const { post } = paths['/v1/signatureAggregator/{network}/aggregateSignatures'];
  const event = post['x-event-stream'].schema;
  expect(event).toEqual({ $ref: '#/components/schemas/AggregationEvent' });
  const described = components.schemas.AggregationEvent.oneOf.map(({ properties }: never) => {
    const { event: kind, data } = properties as { event: { const: string }; data: { $ref: string } };
    expect(components.schemas).toHaveProperty(data.$ref.replace('#/components/schemas/', ''));
    return kind.const;
  });
  expect(described).toEqual(Object.keys(AGGREGATION_EVENTS));
});

test('unread bytes of streams count at once', async () => {
  const { open, held, asked, clock, log } = await start();
  const state = stateOf(20_000);
  const sockets: Socket[] = [];
  // With 3 MB each, and what the system takes for each of them.
  for (let number = 0; number < 40; number += 1) sockets.push(await open());
  await asked(sockets.length);
  for (let round = 0; round < 4; round += 1) {
    held.tell(state);
    await clock.advance(GATHERED_MS);
  }
  for (const socket of sockets) socket.destroy();
  const warned = log.records().find(({ msg }) => msg === 'a connection is closed because of what its client does');
  expect(warned).toMatchObject({ reason: 'holds most memory of all' });
});
