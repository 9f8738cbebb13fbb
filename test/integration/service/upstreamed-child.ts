import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { sendJson, startStandIn } from '../proxy/stand-in.ts';
import { startServiceChild } from './service-child.ts';

export const NEVER_MS = 600_000;
export const DATA = '/v1/chains/1/blocks/';
const REQUEST = `GET ${DATA}2 HTTP/1.1\r\nhost: x\r\n\r\n`;
export const STOPPING = 'stopping: no more requests are taken';

/** Its P-Chain API does not answer: the service listens, and passes on what upstreams answer. */
export async function startUpstreamed({
  network = 'fuji',
  server = {},
  launcher,
}: {
  network?: string;
  server?: object;
  launcher?: readonly string[];
} = {}) {
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
  const service = opened.use(await startServiceChild(whole, [], launcher));
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

/** A connection with a request that the upstream has and does not answer. */
export async function requestUnderWay(service: Awaited<ReturnType<typeof startUpstreamed>>): Promise<Socket> {
  const reached = service.holdNext(1);
  const client = await service.connect();
  client.write(REQUEST);
  await reached;
  return client;
}
