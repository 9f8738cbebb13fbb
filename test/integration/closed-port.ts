import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface ClosedPort extends AsyncDisposable {
  readonly port: number;
}

/**
 * Holds a port of 127.0.0.1 on which no process listens or can start to: the near end of an open connection. The system may give a port
 * that was only freed to another process.
 */
export async function holdClosedPort(): Promise<ClosedPort> {
  const accepted = Promise.withResolvers<Socket>();
  const server = createServer((socket) => accepted.resolve(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(client, 'connect');
  const far = await accepted.promise;
  const { localPort: port } = client;
  if (port === undefined) throw new Error('a connection without a port');
  return {
    port,
    async [Symbol.asyncDispose]() {
      client.destroy();
      far.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
