import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Duplex } from 'node:stream';
import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, ping, WebSocket } from 'undici';
import type { ApiEndpoint } from './api-endpoint.ts';
import { EndpointAddress } from './endpoint-address.ts';
import { isLoopback } from './http-port.ts';
import { describeTransportError } from './transport-error.ts';

/** The part of a web socket that its callers use. The caller closes it. */
export interface WebSocketConnection {
  send(text: string): void;
  /** Sends a ping, which a live peer answers (RFC 6455, 5.5.2). */
  ping(): void;
  /** Ends the connection at once, without waiting for the peer. */
  close(): void;
  /** `data` is that of a message: text, or bytes. `reason` of `close` is why the connection could not be opened, without the host. */
  addEventListener(
    type: 'open' | 'message' | 'pong' | 'close',
    listener: (event: { readonly data?: unknown; readonly reason?: string | undefined }) => void,
  ): void;
}

/** Opens a web socket, which tests simulate. @param endpoint with a URL of ws or wss */
export type OpenWebSocket = (endpoint: ApiEndpoint) => WebSocketConnection;

/** Longer messages end the connection. The header of a block has some kilobytes. */
export const MAX_SOCKET_MESSAGE_BYTES = 1024 * 1024;
/** For the answer to the handshake. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
const PONGS = 'undici:websocket:pong';

/** What a handshake has led to. undici's web socket has none of it. */
interface Handshake {
  status?: number;
  error?: Error;
  connection?: Duplex;
}

/** Opens a web socket, through a tunnel of the proxy that HTTPS_PROXY (wss), HTTP_PROXY (ws) and NO_PROXY name for its host. */
export const openWebSocket: OpenWebSocket = (endpoint) => {
  const address = new EndpointAddress(endpoint);
  const url = `${address.origin}${address.path('')}`;
  const closing = new AbortController();
  // Ends a connection attempt, which undici would keep for 10 s.
  const connect = { signal: closing.signal } as buildConnector.BuildOptions;
  const options = {
    allowH2: false,
    connect,
    headersTimeout: HANDSHAKE_TIMEOUT_MS,
    webSocket: { maxPayloadSize: MAX_SOCKET_MESSAGE_BYTES },
  };
  const isDirect = isLoopback(new URL(url).hostname);
  const dispatcher = isDirect
    ? new Agent(options)
    : new EnvHttpProxyAgent({ ...options, proxyTls: connect, requestTls: connect, proxyTunnel: true });
  const handshake: Handshake = {};
  const socket = new WebSocket(url, {
    dispatcher: dispatcher.compose((dispatch) => (request, handler) => dispatch(request, observed(handler, handshake))),
    headers: address.headers,
  });
  socket.addEventListener('close', () => void dispatcher.destroy());
  return {
    send: (text) => socket.send(text),
    ping: () => ping(socket),
    close() {
      // Sends a close frame. The peer may never answer it.
      socket.close();
      handshake.connection?.end(() => handshake.connection?.destroy());
      if (handshake.connection === undefined) closing.abort();
      void dispatcher.destroy();
    },
    addEventListener(type, listener) {
      if (type === 'pong') {
        const onPong = (message: unknown): void => {
          if ((message as { readonly websocket: unknown }).websocket === socket) listener({});
        };
        subscribe(PONGS, onPong);
        socket.addEventListener('close', () => unsubscribe(PONGS, onPong));
      } else if (type === 'close') {
        socket.addEventListener('close', () => listener({ reason: describe(handshake, address) }));
      } else {
        socket.addEventListener(type, (event: object) => listener(event));
      }
    },
  };
};

/** Returns a handler that notes what the handshake led to, and is otherwise the given one. */
function observed(handler: Dispatcher.DispatchHandler, handshake: Handshake): Dispatcher.DispatchHandler {
  return Object.assign(Object.create(handler) as Dispatcher.DispatchHandler, {
    onRequestUpgrade(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestUpgrade']>>) {
      handshake.connection = args[3];
      return handler.onRequestUpgrade?.(...args);
    },
    onResponseStart(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>) {
      handshake.status = args[1];
      return handler.onResponseStart?.(...args);
    },
    onResponseError(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseError']>>) {
      handshake.error = args[1];
      return handler.onResponseError?.(...args);
    },
  });
}

function describe({ status, error, connection }: Handshake, address: EndpointAddress): string | undefined {
  if (connection !== undefined) return undefined;
  if (status !== undefined) return `the handshake was answered with HTTP status ${status}`;
  return error && address.redactHost(describeTransportError(error));
}
