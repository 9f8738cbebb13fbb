import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import type { AccessOptions } from '../../../../src/http/access/access.ts';
import { createMemoryLimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createTestServer, PATH, portOf, RESULT, recordingLogger, scriptedAggregator } from '../../api/api-fixture.ts';

const DEBUG = 20;
const INFO = 30;
const WARN = 40;
const PAYLOAD = { justification: '0a0b' };
const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe('a request ID', () => {
  test.each(['a', '0', 'trace/1:2|3', '~!', 'x'.repeat(128)])('of the client is kept: %s', async (id) => {
    const server = await createTestServer();
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
    const server = await createTestServer();
    const response = await server.inject({ url: '/health/live', headers: { 'x-request-id': id as string } });
    expect(response.headers['x-request-id']).toMatch(UUID);
  });
});

describe('the access line', () => {
  const access: AccessOptions = {
    apiKeys: [
      {
        name: 'of a test',
        sha256: createHash('sha256').update('a secret key').digest(),
        unitsPerMinute: 1_000,
        routes: ['aggregation'],
      },
    ],
    unitsPerMinute: 1_000,
    trustedProxies: [],
    limits: createMemoryLimitCounters(new FakeClock()),
  };

  test('has the route, the client, the price and the outcome', async () => {
    const { logger, lines } = recordingLogger('info');
    const server = await createTestServer({ logger, access });
    const headers = { 'x-service-api-key': 'a secret key', 'x-request-id': 'mine' };
    await server.inject({ method: 'POST', url: `${PATH}?secret=1`, headers, payload: PAYLOAD });
    const [line, ...others] = lines();
    expect(others).toEqual([]);
    const { time: _time, pid: _pid, hostname: _hostname, ...fields } = line!;
    expect(fields).toEqual({
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
    expect(JSON.stringify(lines())).not.toMatch(/secret|0a0b/);
  });

  test('has the network of a client without a key', async () => {
    const { logger, lines } = recordingLogger('info');
    const server = await createTestServer({ logger, access });
    const ask = (remoteAddress: string, headers = {}) =>
      server.inject({ method: 'POST', url: PATH, payload: PAYLOAD, remoteAddress, headers });
    await ask('192.0.2.7');
    await ask('2001:db8:1:2:3::4');
    await ask('192.0.2.7', { 'x-service-api-key': 'a secret key' });
    expect(lines().map(({ client, key }) => client ?? key)).toEqual(['192.0.2.7', '2001:db8:1:2::/64', 'of a test']);
  });

  test('has the code of an error, and is written without a route', async () => {
    const { logger, lines } = recordingLogger('info');
    const server = await createTestServer({ logger, access });
    await server.inject('/nowhere?secret=1');
    await server.inject({ method: 'POST', url: PATH, headers: { 'x-service-api-key': 'another secret' } });
    await server.inject(`/${'%zz'}`);
    expect(lines()).toMatchObject([
      { method: 'GET', status: 404, code: 'not_found', units: 0 },
      { method: 'POST', status: 401, code: 'unauthorized', units: 1 },
      { method: 'GET', status: 400, code: 'invalid_request' },
    ]);
    expect(JSON.stringify(lines())).not.toContain('secret');
    expect(lines().every(({ key }) => key === undefined)).toBe(true);
  });

  test('is not written for operations', async () => {
    const { logger, lines } = recordingLogger('info');
    const server = await createTestServer({ logger });
    for (const url of ['/', '/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs/', '/docs/json']) {
      expect((await server.inject(url)).statusCode).toBe(200);
    }
    expect(lines()).toEqual([]);
  });

  test('records that the client disconnected', async () => {
    const { logger, lines } = recordingLogger('info');
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const { aggregator } = scriptedAggregator((_, signal) => {
      started.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason);
          ended.resolve();
        });
      });
    });
    const server = await createTestServer({ logger, aggregator });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const client = connect(portOf(server), '127.0.0.1');
    const body = JSON.stringify(PAYLOAD);
    client.write(
      `POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await started.promise;
    client.destroy();
    await ended.promise;
    await server.close();
    const [line] = lines().filter(({ msg }) => msg === 'request');
    expect(line).toMatchObject({
      clientGone: true,
      client: '127.0.0.1',
      route: expect.stringContaining('aggregateSignatures'),
    });
    expect(line).not.toHaveProperty('status');
  });
});

test('a client error is logged at debug with its message', async () => {
  const { logger, lines } = recordingLogger('debug');
  const server = await createTestServer({ logger });
  const payload = { justification: 'xy' };
  const headers = { 'x-request-id': 'wrong' };
  const response = await server.inject({ method: 'POST', url: PATH, headers, payload });
  expect(lines().filter(({ level }) => level === DEBUG)).toMatchObject([
    { requestId: 'wrong', msg: 'request refused', code: 'invalid_request', reason: response.json().message },
  ]);
});

test('a malformed request is logged at debug without its bytes', async () => {
  const { logger, lines } = recordingLogger('trace');
  const server = await createTestServer({ logger });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const client = connect(portOf(server), '127.0.0.1').setEncoding('utf8');
  client.write('GET / HTTP/1.1\r\nhost: x\r\nx-service-api-key: secret\r\nbroken header\r\n\r\n');
  let answer = '';
  for await (const text of client) answer += text;
  await server.close();
  const [line, ...others] = lines().filter(({ msg }) => msg === 'malformed request');
  expect(others).toEqual([]);
  expect(line).toMatchObject({ level: DEBUG, code: 'invalid_request', reason: expect.stringMatching(/^HPE_/) });
  expect(answer.toLowerCase()).toContain(`x-request-id: ${line?.requestId}\r\n`);
  const written = JSON.stringify(lines());
  expect(written).not.toContain('secret');
  expect(written).not.toContain(JSON.stringify([...Buffer.from('secret')]).slice(1, -1));
});

describe('under a flood', () => {
  const failing = scriptedAggregator(async () => {
    throw new AggregatorError('insufficient_weight', 'too little');
  }).aggregator;

  test('other kinds of lines are still logged', async () => {
    const { logger, lines } = recordingLogger('info');
    const server = await createTestServer({ logger, aggregator: failing, clock: new FakeClock() });
    for (let count = 0; count < 2_010; count += 1) await server.inject('/nowhere');
    await server.inject({ method: 'POST', url: PATH, payload: PAYLOAD });
    expect(lines().filter(({ level }) => level === INFO)).toHaveLength(2_000);
    expect(lines().filter(({ level }) => level === WARN)).toHaveLength(1);
  });

  test('the next line has the number of omitted ones', async () => {
    const clock = new FakeClock();
    const { logger, lines } = recordingLogger('info');
    const server = await createTestServer({ logger, clock });
    for (let count = 0; count < 2_003; count += 1) await server.inject('/nowhere');
    await clock.advance(1_000);
    await server.inject('/nowhere');
    expect(lines()).toHaveLength(2_001);
    expect(lines().at(-1)).toMatchObject({ msg: 'request', omitted: 3 });
    expect(
      lines()
        .slice(0, -1)
        .every(({ omitted }) => omitted === undefined),
    ).toBe(true);
  });
});

test('disabled levels write no line', async () => {
  const { logger, lines } = recordingLogger('error');
  const server = await createTestServer({ logger, aggregator: scriptedAggregator(async () => RESULT).aggregator });
  await server.inject({ method: 'POST', url: PATH, payload: PAYLOAD });
  await server.inject('/nowhere');
  expect(lines()).toEqual([]);
});
