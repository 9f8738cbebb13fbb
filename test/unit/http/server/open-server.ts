import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { DrainingServer } from '../../../../src/http/server/draining-server.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

export const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
export const DRAIN_TIMEOUT_MS = 1_000;

interface Limits {
  readonly clock?: FakeClock;
  readonly maxConnections?: number;
  readonly isStopping?: () => boolean;
}

/** Starts a separate server for a test, on a clock that stands still. */
export async function openServer(
  listener: RequestListener,
  { clock = new FakeClock(), maxConnections = 1_000, isStopping }: Limits = {},
) {
  const brokenOff: string[] = [];
  const aborted: number[] = [];
  const server = new DrainingServer(
    { keepAliveTimeout: 3_600_000 },
    {
      clock,
      maxConnections,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      isStopping,
      onTimeout: (requests) => aborted.push(requests),
      onBreakOff: (reason) => brokenOff.push(reason),
    },
    listener,
  );
  server.on('clientError', (_error, socket) => {
    server.afterAnswers(socket as Socket, () => socket.destroy());
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    clock,
    port,
    /** Reasons of the connections that were closed for what their clients did. */
    brokenOff,
    /** Numbers of requests that were aborted after the drain timeout. */
    aborted,
    /** Returns a client and the service's end of its connection. */
    async open(localAddress = '127.0.0.1'): Promise<{ client: Socket; served: Socket }> {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const client = connect({ port, host: '127.0.0.1', localAddress });
      client.on('error', () => undefined);
      const [[served]] = await Promise.all([accepted, once(client, 'connect')]);
      return { client, served };
    },
    /** Resolves when the last connection is closed. */
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
