import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { untilReady } from './client.ts';
import { HOSTILE_CHAIN } from './load.ts';
import { type ServiceProcess, startDevnetProcess, startService } from './processes.ts';

/** A service on a devnet, each in a separate process, with a proxy between the service and the P-Chain API. */
export interface Rig extends AsyncDisposable {
  readonly service: ServiceProcess;
  readonly devnetUrl: string;
  readonly pChain: HangingProxy;
}

export async function startRig(validators: number): Promise<Rig> {
  await using opened = new AsyncDisposableStack();
  const devnet = opened.use(await startDevnetProcess(validators));
  const pChain = opened.use(await startHangingProxy(devnet.apiUrl));
  const rpc = opened.use(await startNestedRpc());
  const service = opened.use(
    await startService({
      network: { pChainApi: [{ baseUrl: pChain.url }], chainRpc: { [HOSTILE_CHAIN]: { baseUrl: rpc.url } } },
      metrics: { port: 0 },
    }),
  );
  await untilReady(service.url);
  const closing = opened.move();
  return { service, devnetUrl: devnet.url, pChain, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** Of each kind in an answer. */
const BRACKETS = 750_000;

/** The RPC of a chain whose answers are lists in lists. */
async function startNestedRpc(): Promise<AsyncDisposable & { readonly url: string }> {
  const result = '['.repeat(BRACKETS) + ']'.repeat(BRACKETS);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id } = (await json(request)) as { readonly id: number };
    response.setHeader('content-type', 'application/json').end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
  };
  const server = createHttpServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A TCP proxy that forwards bytes unless it hangs: connections then open, and nothing answers. */
export interface HangingProxy extends AsyncDisposable {
  readonly url: string;
  isHanging: boolean;
}

async function startHangingProxy(target: string): Promise<HangingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const follow = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
    socket.on('data', (chunk) => {
      if (!proxy.isHanging) other.write(chunk);
    });
  };
  const server = createServer((client) => {
    const api = connect(Number(port), hostname);
    follow(client, api);
    follow(api, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isHanging: false,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
