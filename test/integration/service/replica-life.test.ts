import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { startDevnet } from '../../../src/devnet/devnet.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { sendJson, startStandIn } from '../proxy/stand-in.ts';
import { type ServiceChild, startServiceChild } from './service-child.ts';

// Real processes and real signals, as an orchestrator sends them.

const TIMEOUT_MS = 180_000;
const NEVER_MS = 600_000;
const DATA = '/v1/chains/1/blocks/';
const REQUEST = `GET ${DATA}2 HTTP/1.1\r\nhost: x\r\n\r\n`;
const RELOADED = 'configuration reloaded; settings in `left` need a restart';

/** Its P-Chain API does not answer: the service listens, and passes on what upstreams answer. */
async function startUpstreamed({ network = 'fuji', server = {} }: { network?: string; server?: object } = {}) {
  await using opened = new AsyncDisposableStack();
  const standIn = opened.use(await startStandIn());
  const waiting: ServerResponse[] = [];
  let hold = { count: 0, reached: Promise.withResolvers<void>() };
  standIn.behaviour = ({ method }, response) => {
    if (method !== 'GET') sendJson(response, 503, {});
    else if (hold.count === 0) sendJson(response, 200, { blockNumber: '2' });
    else if (waiting.push(response) === hold.count) hold.reached.resolve();
  };
  const endpoint = { baseUrl: standIn.baseUrl };
  const whole = {
    networks: { [network]: { pChainApi: [endpoint] } },
    upstream: { dataApi: { evm: endpoint }, timeoutMs: NEVER_MS, cacheBytes: 0 },
    server: { port: 0, ...server },
  };
  const service = opened.use(await startServiceChild(whole));
  const closing = opened.move();
  return {
    ...service,
    config: whole,
    standIn,
    /** Resolves when so many requests have reached the upstream, which answers none of them before {@link release}. */
    holdNext(count: number): Promise<void> {
      hold = { count, reached: Promise.withResolvers() };
      return hold.reached.promise;
    },
    release(): void {
      hold = { ...hold, count: 0 };
      for (const response of waiting.splice(0)) sendJson(response, 200, { blockNumber: '2' });
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

test(
  'at SIGTERM it is not ready first, answers for the delay, and loses no request that is under way',
  async () => {
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
    expect((await service.get('/health/ready/fuji')).json()['status']).toBe('stopping');
    expect((await service.get('/health/live')).status).toBe(200);
    // A client that has not noticed is still served.
    const late = await service.connect();
    late.end('GET /health/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(await text(late)).toContain('200 OK');

    await service.log.line('stopping: no more requests are taken');
    await expect(service.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    service.release();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(COUNT).fill(200));
    expect(await service.exitCode()).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'SIGHUP takes what can change, says what is left, and a bad file changes nothing',
  async () => {
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
  },
  TIMEOUT_MS,
);

/** A connection with a request that the upstream has and does not answer. */
async function requestUnderWay(service: Awaited<ReturnType<typeof startUpstreamed>>): Promise<Socket> {
  const reached = service.holdNext(1);
  const client = await service.connect();
  client.write(REQUEST);
  await reached;
  return client;
}

/** A connection kept alive after an answer. */
async function idle(service: ServiceChild): Promise<Socket> {
  const socket = await service.connect();
  socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(socket, 'data');
  return socket.resume();
}

test(
  'at SIGINT, which knows no delay, requests under way are answered, no others are taken, and it ends with 0',
  async () => {
    await using service = await startUpstreamed({ server: { drainDelayMs: NEVER_MS, shutdownTimeoutMs: NEVER_MS } });
    const client = await requestUnderWay(service);
    const unused = await idle(service);
    service.child.kill('SIGINT');
    await once(unused, 'end');
    await expect(service.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    service.release();
    const answer = await text(client);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toContain('{"blockNumber":"2"}');
    expect(await service.exitCode()).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  'a request that takes longer than it may is broken off, and the process ends with 0',
  async () => {
    await using service = await startUpstreamed({ server: { shutdownTimeoutMs: 50 } });
    const client = await requestUnderWay(service);
    service.child.kill('SIGTERM');
    expect(await text(client)).toBe('');
    expect(await service.exitCode()).toBe(0);
    const aborted = await service.log.line('open requests are aborted because the service stops');
    expect(aborted).toMatchObject({ requests: 1 });
  },
  TIMEOUT_MS,
);

test(
  'a second signal ends the process at once, with 1',
  async () => {
    await using service = await startUpstreamed({ server: { shutdownTimeoutMs: NEVER_MS } });
    await requestUnderWay(service);
    const unused = await idle(service);
    service.child.kill('SIGTERM');
    await once(unused, 'end');
    service.child.kill('SIGTERM');
    await once(service.child, 'close');
    expect(await service.exitCode()).toBe(1);
    expect(service.log.tail()).toMatch(/^ended at once, by a second signal$/m);
  },
  TIMEOUT_MS,
);

test(
  'a service that still waits for its node ends with 0',
  async () => {
    await using service = await startUpstreamed({ network: 'local' });
    await service.log.line('the info API does not answer yet; trying again');
    service.child.kill('SIGTERM');
    expect(await service.exitCode()).toBe(0);
  },
  TIMEOUT_MS,
);

/** Sends one request after the other, each to the next replica that says it is ready; a few at a time. */
function loadOf(replicas: ReadonlySet<ServiceChild>, body: () => object) {
  const counts = new Map<ServiceChild, number>();
  const failures: string[] = [];
  let [isOver, turn] = [false, 0];
  async function send(): Promise<void> {
    turn += 1;
    const replica = [...replicas][turn % replicas.size] as ServiceChild;
    const ready = await replica.get('/health/ready').catch(() => undefined);
    if (ready?.status !== 200) return;
    const response = await fetch(`${await replica.url()}/v1/signatureAggregator/fuji/aggregateSignatures`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body()) },
    }).catch((error: unknown) => ({ status: 0, text: async () => String(error) }));
    const answer = await response.text();
    if (response.status !== 201) failures.push(`${response.status} ${answer}`);
    counts.set(replica, (counts.get(replica) ?? 0) + 1);
  }
  const sending = Array.from({ length: 4 }, async () => {
    while (!isOver) await send();
  });
  return {
    counts,
    failures,
    async end(): Promise<void> {
      isOver = true;
      await Promise.all(sending);
    },
  };
}

async function untilTrue(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 50));
}

test(
  'every replica is replaced one by one under load, and no request fails',
  async () => {
    const logger = createLogger('silent');
    await using devnet = await startDevnet({ validators: 5, clock: systemClock, logger });
    const [example] = devnet.examples('fuji').filter(({ body }) => body !== undefined);
    const local = { aliases: ['fuji'], pChainApi: [{ baseUrl: devnet.apiUrl }] };
    const config = { networks: { local }, server: { port: 0, drainDelayMs: 500 } };
    await using opened = new AsyncDisposableStack();
    const start = async (): Promise<ServiceChild> => {
      const replica = opened.use(await startServiceChild(config));
      await replica.url();
      await untilTrue(async () => (await replica.get('/health/ready')).status === 200);
      return replica;
    };
    const replicas = new Set([await start(), await start()]);
    let requests = 0;
    const load = loadOf(replicas, () => {
      requests += 1;
      // Another quorum is another key, so each request is collected and verified.
      return { ...example?.body, quorumPercentage: 20 + (requests % 60) };
    });
    const busy = (replica: ServiceChild) => untilTrue(() => (load.counts.get(replica) ?? 0) >= 8);

    for (const old of [...replicas]) {
      await busy(old);
      const replacement = await start();
      replicas.add(replacement);
      old.child.kill('SIGTERM');
      expect(await old.exitCode()).toBe(0);
      replicas.delete(old);
      await busy(replacement);
    }
    await load.end();
    expect(load.failures).toEqual([]);
    expect(load.counts.size).toBe(4);
  },
  TIMEOUT_MS,
);
