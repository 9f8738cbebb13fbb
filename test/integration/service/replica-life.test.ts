import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { sendJson, startStandIn } from '../proxy/stand-in.ts';
import { DATA, NEVER_MS, requestUnderWay, STOPPING, startUpstreamed } from './upstreamed-child.ts';

// Real processes and real signals, as an orchestrator sends them.

vi.setConfig({ testTimeout: 180_000 });
const RELOADED = 'configuration reloaded; settings in `left` need a restart';

test('at SIGTERM it is not ready first, answers for the delay, and loses no request that is under way', async () => {
  const COUNT = 30;
  await using service = await startUpstreamed({ server: { drainDelayMs: 2_000, shutdownTimeoutMs: NEVER_MS } });
  await service.url();
  const reached = service.holdNext(COUNT);
  const answers = Array.from({ length: COUNT }, (_, index) => service.get(`${DATA}${index}`));
  await reached;

  service.child.kill('SIGTERM');
  await service.log.line('about to stop: not ready any more');
  const ready = await service.get('/health/ready');
  expect([ready.status, ready.json()['status']]).toEqual([503, 'stopping']);
  // A client that has not noticed is still served.
  const late = await service.connect();
  late.end('GET /health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  expect(await text(late)).toContain('200 OK');

  await service.log.line(STOPPING);
  await expect(service.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  service.release();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(COUNT).fill(200));
  expect(await service.exitCode()).toBe(0);
});

test('at SIGTERM without a delay, no kept connection loses its next request', async () => {
  const COUNT = 8;
  await using service = await startUpstreamed();
  const connections = await Promise.all(Array.from({ length: COUNT }, () => service.connect()));
  const request = 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n';
  for (const connection of connections) {
    connection.write(request);
    const [answer] = (await once(connection, 'data')) as [Buffer];
    expect(String(answer)).not.toMatch(/connection: close/i);
  }
  service.child.kill('SIGTERM');
  await service.log.line(STOPPING);
  await expect(service.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  for (const connection of connections) connection.write(request);
  const answers = await Promise.all(connections.map((connection) => text(connection)));
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*connection: close\r\n/i);
  expect(await service.exitCode()).toBe(0);
});

test('SIGHUP takes what can change, says what is left, and a bad file changes nothing', async () => {
  await using service = await startUpstreamed();
  await using elsewhere = await startStandIn();
  elsewhere.behaviour = (_request, response) => sendJson(response, 200, { blockNumber: 'elsewhere' });
  await service.url();
  const wrongKey = { 'x-service-api-key': 'wrong' };
  expect((await service.get(`${DATA}1`, wrongKey)).status).toBe(200);

  await service.write(JSON.stringify({ ...service.config, access: { unitsPerMinute: 0, apiKeys: [{ name: 'a' }] } }));
  service.child.kill('SIGHUP');
  const refused = await service.log.line('the configuration is not reloaded: nothing changes');
  expect(refused['problems']).toContain('access.apiKeys[0].sha256');
  expect((await service.get(`${DATA}1`, wrongKey)).status).toBe(200);

  const sha256 = createHash('sha256').update('right').digest('hex');
  const subnet = '2W9boARgCWL25z6pMFNtkCfNA5v28VGg9PmBgUJfuKndEdhrvw';
  await service.write(
    JSON.stringify({
      ...service.config,
      server: { ...service.config.server, port: 1 },
      log: { level: 'debug' },
      networks: { fuji: { ...service.config.networks['fuji'], trackedSubnetIds: [subnet] } },
      access: { apiKeys: [{ name: 'a', sha256, unitsPerMinute: 77 }], unitsPerMinute: 55 },
      upstream: { ...service.config.upstream, dataApi: { evm: { baseUrl: elsewhere.baseUrl } } },
    }),
  );
  service.child.kill('SIGHUP');
  expect(await service.log.line(RELOADED)).toMatchObject({
    taken: [
      'networks.fuji.trackedSubnetIds',
      'log.level',
      'access.unitsPerMinute',
      'access.apiKeys',
      'upstream.dataApi.evm',
    ],
    left: ['server.port'],
  });
  expect((await service.get(`${DATA}1`, wrongKey)).status).toBe(401);
  const answer = await fetch(`${await service.url()}${DATA}1`, { headers: { 'x-service-api-key': 'right' } });
  expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, '77']);
  expect(await answer.json()).toEqual({ blockNumber: 'elsewhere' });
  const ready = (await service.get('/health/ready/fuji')).json() as { subnets: { subnetId: string }[] };
  expect(ready.subnets.map(({ subnetId }) => subnetId)).toContain(subnet);
});

test('at SIGINT, which knows no delay, a request under way is answered, no other is taken, and it ends with 0', async () => {
  await using service = await startUpstreamed({ server: { drainDelayMs: NEVER_MS, shutdownTimeoutMs: NEVER_MS } });
  const client = await requestUnderWay(service);
  service.child.kill('SIGINT');
  await service.log.line(STOPPING);
  await expect(service.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  service.release();
  expect(await text(client)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*connection: close\r\n[^]*\{"blockNumber":"2"\}/i);
  expect(await service.exitCode()).toBe(0);
});

test('a request that takes longer than it may is broken off, and the process ends with 0', async () => {
  await using service = await startUpstreamed({ server: { shutdownTimeoutMs: 50 } });
  const client = await requestUnderWay(service);
  service.child.kill('SIGTERM');
  expect(await text(client)).toBe('');
  expect(await service.exitCode()).toBe(0);
  const aborted = await service.log.line('open requests are aborted because the service stops');
  expect(aborted).toMatchObject({ requests: 1 });
});

test('a service that still waits for its node ends with 0', async () => {
  await using service = await startUpstreamed({ network: 'local' });
  await service.log.line('the info API does not answer yet; trying again');
  service.child.kill('SIGTERM');
  expect(await service.exitCode()).toBe(0);
});
