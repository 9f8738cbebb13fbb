import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface ClosedPort extends AsyncDisposable {
  readonly port: number;
}

/**
 * A port of 127.0.0.1 at which nobody listens, and at which nobody can begin to: it is the near end of a connection that is held
 * open. One that was only freed may be given to somebody else at once.
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
