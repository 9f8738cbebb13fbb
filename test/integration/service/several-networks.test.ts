import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type App, startApp } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { WrongNetworks } from '../../../src/network/networks.ts';
import { createLogger, type Logger } from '../../../src/telemetry/logger.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { LocalApi } from '../pchain/local-api.ts';
import { sendJson, startStandIn } from '../proxy/stand-in.ts';
import { type Answer, type Internals, withInternals } from './running-service.ts';

const TIMEOUT_MS = 30_000;
const silent = createLogger('silent');

function start(networks: object, logger: Logger, clock: Clock = systemClock, internals: Internals = {}): Promise<App> {
  const { config } = parseConfig({ networks, server: { port: 0 }, access: { unitsPerMinute: 0 } }, {}, {});
  return startApp({ config: withInternals(config, internals), logger, clock, random: Math.random });
}

async function ask({ url }: App, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    ...(body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

const aggregate = (app: App, network: string, body: object) =>
  ask(app, `/v1/signatureAggregator/${network}/aggregateSignatures`, body);

describe('one process with the devnet and another one beside it', { timeout: TIMEOUT_MS }, () => {
  const log = createLogLines();
  const opened = new AsyncDisposableStack();
  let app: App;
  let second: Devnet;
  let embedded: Devnet;

  beforeAll(async () => {
    second = opened.use(await startDevnet({ validators: 6, seed: 2, clock: systemClock, logger: silent }));
    app = await start(
      {
        first: { embedded: { validators: 6 }, aliases: ['fuji', 'testnet'] },
        second: { pChainApi: [{ baseUrl: second.apiUrl }], aliases: ['twin'] },
      },
      log.logger,
    );
    opened.use(app);
    await app.untilReady(AbortSignal.timeout(TIMEOUT_MS));
    embedded = app.devnet as Devnet;
  }, TIMEOUT_MS);
  afterAll(() => opened.disposeAsync());

  test('serves each under all of its names, with its own validators', async () => {
    const [ofFirst, ofSecond] = [embedded.emitMessages(1)[0], second.emitMessages(1)[0]];
    const signers = async (name: string, message: string | undefined) => {
      const { status, body } = await aggregate(app, name, { message, quorumPercentage: 100 });
      expect({ name, status }).toEqual({ name, status: 201 });
      return new Set(body['signers'] as string[]);
    };
    const firsts = new Set<string>(embedded.nodeIDs.slice(0, 6));
    const seconds = new Set<string>(second.nodeIDs.slice(0, 6));
    for (const name of ['first', 'fuji', 'testnet']) expect(await signers(name, ofFirst)).toEqual(firsts);
    for (const name of ['second', 'twin']) expect(await signers(name, ofSecond)).toEqual(seconds);
    // Both have the same network ID, and the C-Chain of neither knows the other's message.
    expect((await aggregate(app, 'second', { message: ofFirst })).status).toBeGreaterThanOrEqual(400);
  });

  test('says which names there are where another is asked for', async () => {
    const message = 'network "mainnet" is not served here; served: first, fuji, testnet, second, twin';
    const expected = { status: 404, body: { code: 'unknown_network', message } };
    expect(await aggregate(app, 'mainnet', { message: '00' })).toMatchObject(expected);
    expect(await ask(app, '/health/ready/mainnet')).toMatchObject(expected);
  });

  test('measures each under its own name, once', async () => {
    const text = await (await fetch(`${app.url}/metrics`)).text();
    const series = text.split('\n').filter((line) => line.startsWith('signature_aggregator_connected_weight_ratio'));
    const { subnetID } = second.subnets.primary;
    expect(series.toSorted()).toEqual([
      `signature_aggregator_connected_weight_ratio{network="first",subnet_id="${subnetID}"} 1`,
      `signature_aggregator_connected_weight_ratio{network="second",subnet_id="${subnetID}"} 1`,
    ]);
    expect(text).not.toMatch(/network="[^"]*".*network="/);
  });

  test('has one go on as before when the API of the other stops', async () => {
    const first = async () => (await ask(app, '/health/ready/first')).body;
    const message = embedded.emitMessages(1)[0];
    const before = { ready: await first(), answer: await aggregate(app, 'first', { message }) };
    expect(before).toMatchObject({ ready: { status: 'up' }, answer: { status: 201 } });

    await second.closeApi();
    // A set that was not read before has to be asked for.
    const ofL1 = { message: second.emitMessages(1)[0], signingSubnetId: second.subnets.l1.subnetID };
    const failed = await aggregate(app, 'second', ofL1);
    expect(failed.body['code']).toBe('p_chain_unavailable');

    expect(await first()).toEqual(before.ready);
    const again = await aggregate(app, 'first', { message });
    expect(again.body['signedMessage']).toBe(before.answer.body['signedMessage']);
    expect(await aggregate(app, 'fuji', { message: embedded.emitMessages(1)[0] })).toMatchObject({ status: 201 });
    expect(await ask(app, '/health/ready')).toMatchObject({ status: 200 });
    // Its validators are still connected, so that it is not down either.
    expect(await ask(app, '/health/ready/second')).toMatchObject({ status: 200, body: { status: 'up' } });
  });
});

test(
  'node RPC goes to the node that the configuration names, though a devnet is there',
  async () => {
    await using node = await startStandIn();
    node.behaviour = (_request, response) =>
      sendJson(response, 200, { jsonrpc: '2.0', id: 1, result: 'of the other node' });
    const { config } = parseConfig(
      {
        networks: { own: { embedded: { validators: 5 } } },
        server: { port: 0 },
        upstream: { nodeRpc: { baseUrl: node.baseUrl } },
      },
      {},
      {},
    );
    await using app = await startApp({ config, logger: silent, clock: systemClock, random: Math.random });
    await Promise.race([app.untilReady(AbortSignal.timeout(TIMEOUT_MS)), app.failed]);
    const call = { jsonrpc: '2.0', id: 1, method: 'platform.getHeight', params: {} };
    expect(await ask(app, '/ext/bc/P', call)).toMatchObject({ status: 200, body: { result: 'of the other node' } });
  },
  TIMEOUT_MS,
);

describe('networks that cannot be served', { timeout: TIMEOUT_MS }, () => {
  const apiOf = (networkID: string) =>
    LocalApi.start(({ method }) =>
      method === 'info.getNetworkID' ? { result: { networkID } } : { error: { code: -32_000, message: 'no' } },
    );

  test('a public network under a name of our own is refused, and the others are served meanwhile', async () => {
    await using posing = await apiOf('5');
    const log = createLogLines();
    await using app = await start(
      {
        own: { embedded: { validators: 5 } },
        posing: { pChainApi: [{ baseUrl: posing.baseUrl }] },
        gone: { pChainApi: [{ baseUrl: 'http://127.0.0.1:1' }] },
      },
      log.logger,
    );
    expect(await ask(app, '/health/live')).toMatchObject({ status: 200 });
    const reason = 'its info API is of fuji: call the network fuji in the configuration, not posing';
    await log.until(reason);
    expect(await ask(app, '/health/ready/posing')).toMatchObject({ status: 503, body: { status: 'down', reason } });
    await log.until('"network":"own","networkID"');
    const message = app.devnet?.emitMessages(1)[0];
    expect(await aggregate(app, 'posing', { message })).toMatchObject({
      status: 503,
      body: { code: 'network_unavailable', message: `posing cannot be served now: ${reason}` },
    });
    const gone = await aggregate(app, 'gone', { message });
    expect(gone).toMatchObject({ status: 503, body: { code: 'network_unavailable' } });
    expect(gone.headers.get('retry-after')).toBe('5');
    // As the request waits for connections that are on their way.
    expect(await aggregate(app, 'own', { message })).toMatchObject({ status: 201 });
  });

  test('end the service where no other is left', async () => {
    await using posing = await apiOf('5');
    await using wrong = await apiOf('7');
    await using app = await start(
      { posing: { pChainApi: [{ baseUrl: posing.baseUrl }] }, mainnet: { pChainApi: [{ baseUrl: wrong.baseUrl }] } },
      silent,
    );
    const failure = await app.failed.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(WrongNetworks);
    expect((failure as Error).message).toBe(
      'posing: its info API is of fuji: call the network fuji in the configuration, not posing; ' +
        'mainnet: its info API is of network ID 7, and mainnet has 1: check infoApi and pChainApi',
    );
  });

  test('do not end a service in which one was corrected before the other was refused', async () => {
    const answers = { one: '5', two: '' };
    const apiThat = (name: keyof typeof answers) =>
      LocalApi.start(({ method }) =>
        method === 'info.getNetworkID' && answers[name] !== ''
          ? { result: { networkID: answers[name] } }
          : { error: { code: -32_000, message: 'no' } },
      );
    await using one = await apiThat('one');
    await using two = await apiThat('two');
    const [log, clock] = [createLogLines(), new FakeClock()];
    await using app = await start(
      {
        one: { pChainApi: [{ baseUrl: one.baseUrl }] },
        two: { pChainApi: [{ baseUrl: two.baseUrl }] },
      },
      log.logger,
      clock,
      // Answers take the machine's own time, and none of the clock's.
      { network: { apiTimeoutMs: 60_000 } },
    );
    let failure: unknown;
    app.failed.catch((error: unknown) => {
      failure = error;
    });
    await log.until('not one');
    await log.until('the info API does not answer yet');
    answers.one = '7';
    await clock.advance(30_000);
    await log.until('"network":"one","networkID":7');
    // Its second question is over, and the third comes some seconds later.
    await log.until('the info API does not answer yet', 2);
    answers.two = '5';
    await clock.advance(30_000);
    await log.until('not two');
    expect(await ask(app, '/health/ready/two')).toMatchObject({ status: 503, body: { status: 'down' } });
    expect(failure).toBeUndefined();
  });

  test('leave the process in order: no more requests, then the networks, the embedded one last', async () => {
    const log = createLogLines();
    const app = await start({ own: { embedded: { validators: 5 } } }, log.logger);
    await app.untilReady(AbortSignal.timeout(TIMEOUT_MS));
    const { apiUrl } = app.devnet as Devnet;
    const connected = log.count('"msg":"peer ready"');
    await app[Symbol.asyncDispose]();
    const messages = log.lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    const stopping = messages.indexOf('stopping: no more requests are taken');
    expect(stopping).toBeGreaterThan(0);
    expect(messages.indexOf('peer closed')).toBeGreaterThan(stopping);
    // We closed them: no validator was gone before.
    const closed = log.lines.filter((line) => line.includes('"msg":"peer closed"'));
    expect(closed.length).toBeGreaterThanOrEqual(connected);
    for (const line of closed) expect(line).toContain('"cause":"shutdown"');
    await expect(fetch(apiUrl)).rejects.toThrow();
    await expect(fetch(app.url)).rejects.toThrow();
  });
});
