import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import type { AccessOptions } from '../../../../src/http/access/access.ts';
import { createMemoryLimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { createTestServer, PATH, portOf, scriptedAggregator } from '../../api/api-fixture.ts';

const DEBUG = 'debug';
const INFO = 'info';
const WARN = 'warn';
const PAYLOAD = { justification: '0a0b' };
const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe('a request ID', async () => {
  const server = await createTestServer();

  test.each(['a', 'trace/1:2|3', '~!', 'x'.repeat(128)])('of the client is kept: %s', async (id) => {
    for (const url of ['/health/live', '/nowhere', '/metrics', PATH, '/%zz']) {
      const response = await server.inject({ url, headers: { 'x-request-id': id } });
      expect(response.headers['x-request-id']).toBe(id);
    }
  });

  test.each([
    ['empty', ''],
    ['too long', 'x'.repeat(129)],
    ['two words', 'a b'],
    ['a line break', 'a\nlevel:50'],
    ['not ASCII', 'é'],
    ['two of them', ['a', 'b']],
  ])('that is %s is replaced', async (_, id) => {
    const response = await server.inject({ url: '/health/live', headers: { 'x-request-id': id as string } });
    expect(response.headers['x-request-id']).toMatch(UUID);
  });
});

describe('the access line', () => {
  const access: AccessOptions = {
    rules: {
      apiKeys: [
        {
          name: 'of a test',
          sha256: createHash('sha256').update('a secret key').digest(),
          unitsPerMinute: 1_000,
          routes: ['aggregation'],
        },
      ],
      unitsPerMinute: 1_000,
    },
    trustedProxies: [],
    limits: createMemoryLimitCounters(new FakeClock()),
  };

  test('has the route, the client, the price and the outcome', async () => {
    const { logger, records } = createLogLines('info');
    const server = await createTestServer({ logger, access });
    const headers = { 'x-service-api-key': 'a secret key', 'x-request-id': 'mine' };
    await server.inject({ method: 'POST', url: `${PATH}?include=accessList`, headers, payload: PAYLOAD });
    const [line, ...others] = records();
    expect(others).toEqual([]);
    expect(line).toEqual({
      level: INFO,
      requestId: 'mine',
      method: 'POST',
      route: '/v1/signatureAggregator/:network/aggregateSignatures',
      status: 201,
      durationMs: expect.any(Number),
      key: 'of a test',
      units: 10,
      msg: 'request',
    });
    expect(JSON.stringify(records())).not.toMatch(/secret|0a0b/);
  });

  test('has the code of an error, and is written without a route', async () => {
    const { logger, records } = createLogLines('info');
    const server = await createTestServer({ logger, access });
    await server.inject('/nowhere?secret=1');
    await server.inject({ method: 'POST', url: PATH, headers: { 'x-service-api-key': 'another secret' } });
    await server.inject(`/${'%zz'}`);
    expect(records()).toMatchObject([
      { method: 'GET', status: 404, code: 'not_found', units: 0 },
      { method: 'POST', status: 401, code: 'unauthorized', units: 1 },
      { method: 'GET', status: 400, code: 'invalid_request' },
    ]);
    expect(JSON.stringify(records())).not.toContain('secret');
    expect(records().every(({ key }) => key === undefined)).toBe(true);
  });

  test('is not written for operations', async () => {
    const { logger, records } = createLogLines('info');
    const server = await createTestServer({ logger });
    for (const url of ['/', '/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs/', '/docs/json']) {
      expect((await server.inject(url)).statusCode).toBe(200);
    }
    expect(records()).toEqual([]);
  });
});

test('a client error is logged at debug with its message', async () => {
  const { logger, records } = createLogLines('debug');
  const server = await createTestServer({ logger });
  const payload = { justification: 'xy' };
  const headers = { 'x-request-id': 'wrong' };
  const response = await server.inject({ method: 'POST', url: PATH, headers, payload });
  expect(records().filter(({ level }) => level === DEBUG)).toMatchObject([
    { requestId: 'wrong', msg: 'request refused', code: 'invalid_request', reason: response.json().message },
  ]);
});

test('without access lines a client error of a recorded request is a warning, and of others none', async () => {
  const { logger, records } = createLogLines('warn');
  const server = await createTestServer({ logger });
  const payload = { justification: 'xy' };
  await server.inject({ method: 'POST', url: PATH, headers: { 'x-request-id': 'recorded' }, payload });
  await server.inject('/nowhere');
  expect(records()).toMatchObject([
    { level: WARN, requestId: 'recorded', msg: 'request refused', code: 'invalid_request' },
  ]);
});

test('a malformed request is logged at debug without its bytes', async () => {
  const { logger, records } = createLogLines('trace');
  const server = await createTestServer({ logger });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const client = connect(portOf(server), '127.0.0.1').setEncoding('utf8');
  client.write('GET / HTTP/1.1\r\nhost: x\r\nx-service-api-key: secret\r\nbroken header\r\n\r\n');
  let answer = '';
  for await (const text of client) answer += text;
  await server.close();
  const [line, ...others] = records().filter(({ msg }) => msg === 'malformed request');
  expect(others).toEqual([]);
  expect(line).toMatchObject({ level: DEBUG, code: 'invalid_request', reason: expect.stringMatching(/^HPE_/) });
  expect(answer.toLowerCase()).toContain(`x-request-id: ${line?.requestId}\r\n`);
  const written = JSON.stringify(records());
  expect(written).not.toContain('secret');
  expect(written).not.toContain(JSON.stringify([...Buffer.from('secret')]).slice(1, -1));
});

test('under a flood, other kinds of lines are still logged, and the next line has the number of omitted ones', async () => {
  const clock = new FakeClock();
  const { aggregator } = scriptedAggregator(async () => {
    throw new AggregatorError('insufficient_weight', 'too little');
  });
  const { logger, records } = createLogLines('info');
  const server = await createTestServer({ logger, aggregator, clock });
  for (let count = 0; count < 2_003; count += 1) await server.inject('/nowhere');
  await server.inject({ method: 'POST', url: PATH, payload: PAYLOAD });
  expect(records().filter(({ level }) => level === INFO)).toHaveLength(2_000);
  expect(records().filter(({ level }) => level === WARN)).toHaveLength(1);
  await clock.advance(1_000);
  await server.inject('/nowhere');
  expect(records().at(-1)).toMatchObject({ msg: 'request', omitted: 4 });
});

test('refusals of one client as overloaded are one line in ten seconds, with their number', async () => {
  const clock = new FakeClock();
  const { logger, records } = createLogLines(WARN);
  const { aggregator } = scriptedAggregator(() => Promise.reject(new AggregatorError('overloaded', 'too much')));
  const server = await createTestServer({ logger, clock, aggregator });
  const ask = (remoteAddress: string) => server.inject({ method: 'POST', url: PATH, payload: PAYLOAD, remoteAddress });
  for (let count = 0; count < 5; count += 1) await ask('192.0.2.1');
  await ask('198.51.100.1');
  expect(records()).toMatchObject([{ code: 'overloaded' }, { code: 'overloaded' }]);
  await clock.advance(10_000);
  await ask('192.0.2.1');
  expect(records()[2]).toMatchObject({ client: '192.0.2.1', omittedOfClient: 4 });
});
