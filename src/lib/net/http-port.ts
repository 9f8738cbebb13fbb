import { Agent, type Dispatcher, EnvHttpProxyAgent, interceptors, Pool, WebSocket } from 'undici';

/** Opens connections to an HTTP origin, which tests simulate. The caller owns the dispatcher and must destroy it. */
export type OpenHttp = (origin: string, options: Pool.Options) => Dispatcher;

/**
 * Opens a pool, or connections through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for the origin. Compressed bodies are decoded,
 * errors included. `maxResponseSize` bounds the bytes before and after decoding; callers without it bound what they read, and all bound
 * the time of a request.
 */
export const openHttpPool: OpenHttp = (origin, options) => {
  const bounded = { allowH2: false, headersTimeout: 0, bodyTimeout: 0, ...options };
  const decompress = interceptors.decompress({ skipErrorResponses: false, maxSize: options.maxResponseSize ?? 0 });
  if (isLoopback(new URL(origin).hostname)) return new Pool(origin, bounded).compose(decompress);
  // Without these variables it is a pool, too. It serves any origin, so each request has to name its own.
  return new EnvHttpProxyAgent(bounded).compose(
    (dispatch) => (request, handler) => dispatch({ ...request, origin }, handler),
    decompress,
  );
};

/** The part of a web socket that its callers use. The caller closes it. */
export interface WebSocketConnection {
  send(text: string): void;
  close(): void;
  /** `data` is that of a message: text, or bytes. */
  addEventListener(
    type: 'open' | 'close' | 'error' | 'message',
    listener: (event: { readonly data?: unknown }) => void,
  ): void;
}

/** Opens a web socket, which tests simulate. @param url of ws or wss */
export type OpenWebSocket = (url: string) => WebSocketConnection;

/** Longer messages end the connection. The header of a block has some kilobytes. */
export const MAX_SOCKET_MESSAGE_BYTES = 1024 * 1024;
/** For the answer to the handshake. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Opens a web socket, through a tunnel of the proxy that HTTPS_PROXY (wss), HTTP_PROXY (ws) and NO_PROXY name for its host. */
export const openWebSocket: OpenWebSocket = (url) => {
  const options = {
    allowH2: false,
    headersTimeout: HANDSHAKE_TIMEOUT_MS,
    webSocket: { maxPayloadSize: MAX_SOCKET_MESSAGE_BYTES },
  };
  const isDirect = isLoopback(new URL(url).hostname);
  const dispatcher = isDirect ? new Agent(options) : new EnvHttpProxyAgent({ ...options, proxyTunnel: true });
  const socket = new WebSocket(url, { dispatcher });
  socket.addEventListener('close', () => void dispatcher.destroy());
  return socket;
};

/** A proxy cannot reach what listens on this machine only. */
function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost\.?)$/.test(hostname);
}
