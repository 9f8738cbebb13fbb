import { expect, test } from 'vitest';
import { type App, startApp } from '../../../src/app/app.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger, type Logger } from '../../../src/telemetry/logger.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { startStandIn } from '../proxy/stand-in.ts';
import { ask } from './running-service.ts';

const START_TIMEOUT_MS = 30_000;

/** Starts the whole service, and waits until its networks are ready. */
async function start(
  networks: object,
  { logger = createLogger('silent'), ...sections }: { logger?: Logger; upstream?: object } = {},
): Promise<App> {
  const settings = { networks, server: { port: 0 }, access: { unitsPerMinute: 0 }, ...sections };
  const { config } = parseConfig(settings, {}, {});
  const app = await startApp({ config, logger, clock: systemClock, random: Math.random });
  await app.untilReady(AbortSignal.timeout(START_TIMEOUT_MS));
  return app;
}

const aggregate = (app: App, network: string, body: object) =>
  ask(app, `/v1/signatureAggregator/${network}/aggregateSignatures`, body);

test('a devnet and another network are served under all of their names, each with its own validators', async () => {
  await using second = await startDevnet({
    validators: 6,
    seed: 2,
    clock: systemClock,
    logger: createLogger('silent'),
  });
  await using app = await start({
    first: { embedded: { validators: 6 }, aliases: ['fuji', 'testnet'] },
    second: { pChainApi: [{ baseUrl: second.apiUrl }], aliases: ['twin'] },
  });
  const first = app.devnet as Devnet;
  const [ofFirst, ofSecond] = [first.emitMessages(1)[0], second.emitMessages(1)[0]];
  const signers = async (name: string, message: string | undefined) => {
    const { status, body } = await aggregate(app, name, { message, quorumPercentage: 100 });
    expect({ name, status }).toEqual({ name, status: 201 });
    return new Set(body['signers'] as string[]);
  };
  const [firsts, seconds] = [first, second].map(({ nodeIDs }) => new Set<string>(nodeIDs.slice(0, 6)));
  for (const name of ['first', 'fuji', 'testnet']) expect(await signers(name, ofFirst)).toEqual(firsts);
  for (const name of ['second', 'twin']) expect(await signers(name, ofSecond)).toEqual(seconds);
  // Both have the same network ID, and the C-Chain of neither knows the other's message.
  expect((await aggregate(app, 'second', { message: ofFirst })).status).toBeGreaterThanOrEqual(400);

  const text = await (await fetch(`${app.url}/metrics`)).text();
  const series = text.split('\n').filter((line) => line.startsWith('signature_aggregator_connected_weight_ratio'));
  const { subnetID } = second.subnets.primary;
  expect(series.toSorted()).toEqual([
    `signature_aggregator_connected_weight_ratio{network="first",subnet_id="${subnetID}"} 1`,
    `signature_aggregator_connected_weight_ratio{network="second",subnet_id="${subnetID}"} 1`,
  ]);
  expect(text).not.toMatch(/network="[^"]*".*network="/);
});

test('node RPC goes to the node that the configuration names, though a devnet is there', async () => {
  await using node = await startStandIn();
  const upstream = { nodeRpc: { baseUrl: node.baseUrl } };
  await using app = await start({ own: { embedded: { validators: 5 } } }, { upstream });
  const call = { jsonrpc: '2.0', id: 1, method: 'platform.getHeight', params: {} };
  expect(await ask(app, '/ext/bc/P', call)).toMatchObject({ status: 200, body: { result: { height: '7' } } });
  expect(node.arrivals).toHaveLength(1);
});

test('a stop is in order: no more requests, then the networks, the devnet last', async () => {
  const log = createLogLines();
  const app = await start({ own: { embedded: { validators: 5 } } }, { logger: log.logger });
  const { apiUrl } = app.devnet as Devnet;
  const connected = log.count('"msg":"peer ready"');
  await app[Symbol.asyncDispose]();
  const messages = log.records().map(({ msg }) => msg);
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
