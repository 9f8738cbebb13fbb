import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { sendJson, startStandIn } from '../proxy/stand-in.ts';
import { startServiceChild } from './service-child.ts';

/** A process needs a second or two on a busy machine to load everything; then all goes by events. */
const TIMEOUT_MS = 60_000;
const NEVER_MS = 600_000;
const REQUEST = 'GET /v1/chains/1/blocks/2 HTTP/1.1\r\nhost: x\r\n\r\n';

/** The service as operators run it, before an upstream that answers when the test lets it. */
async function startProcess({ network = 'fuji', server = {} }: { network?: string; server?: object }) {
  await using opened = new AsyncDisposableStack();
  const standIn = opened.use(await startStandIn());
  const asked = Promise.withResolvers<ServerResponse>();
  standIn.behaviour = ({ method }, response) => {
    if (method === 'GET') asked.resolve(response);
    // The P-Chain API, which is not needed here.
    else sendJson(response, 503, {});
  };
  const endpoint = { baseUrl: standIn.baseUrl };
  const upstream = { dataApi: { evm: endpoint }, timeoutMs: NEVER_MS };
  const networks = { [network]: { pChainApi: [endpoint] } };
  const service = opened.use(await startServiceChild({ networks, server: { port: 0, ...server }, upstream }));
  const closing = opened.move();
  return {
    ...service,
    /** The upstream's answer to the request under way. */
    asked: asked.promise,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** A connection kept alive after an answer. */
async function idle(service: Awaited<ReturnType<typeof startProcess>>): Promise<Socket> {
  const socket = await service.connect();
  socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(socket, 'data');
  return socket.resume();
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  'at %s requests under way are answered, no others are taken, and the process ends with 0',
  async (signal) => {
    await using service = await startProcess({ server: { shutdownTimeoutMs: NEVER_MS } });
    const client = await service.connect();
    client.write(REQUEST);
    const upstream = await service.asked;
    const unused = await idle(service);

    service.child.kill(signal);
    await once(unused, 'end');
    await expect(service.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    sendJson(upstream, 200, { blockNumber: '2' });
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
    await using service = await startProcess({ server: { shutdownTimeoutMs: 50 } });
    const client = await service.connect();
    client.write(REQUEST);
    await service.asked;
    service.child.kill('SIGTERM');
    expect(await text(client)).toBe('');
    expect(await service.exitCode()).toBe(0);
    expect(await service.log.line('open requests are aborted because the service stops')).toMatchObject({
      requests: 1,
    });
  },
  TIMEOUT_MS,
);

test(
  'a second signal ends the process at once, with 1',
  async () => {
    await using service = await startProcess({ server: { shutdownTimeoutMs: NEVER_MS } });
    const client = await service.connect();
    client.write(REQUEST);
    await service.asked;
    const unused = await idle(service);
    service.child.kill('SIGTERM');
    await once(unused, 'end');
    let said = '';
    service.child.stderr.on('data', (chunk) => {
      said += String(chunk);
    });
    service.child.kill('SIGTERM');
    await once(service.child, 'close');
    expect(await service.exitCode()).toBe(1);
    expect(said).toMatch(/^ended at once, by a second signal$/m);
  },
  TIMEOUT_MS,
);

test(
  'a service that still waits for its node ends with 0',
  async () => {
    await using service = await startProcess({ network: 'local' });
    await service.log.line('the info API does not answer yet; trying again');
    service.child.kill('SIGTERM');
    expect(await service.exitCode()).toBe(0);
  },
  TIMEOUT_MS,
);
