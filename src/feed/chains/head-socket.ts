import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { type Clock, type Random, repeat } from '../../lib/concurrency/clock.ts';
import { isObject } from '../../lib/encoding/is-object.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';
import type { OpenWebSocket, WebSocketConnection } from '../../lib/net/http-port.ts';
import type { Logger } from '../../telemetry/logger.ts';

export interface HeadSocketOptions {
  readonly url: string;
  readonly openSocket: OpenWebSocket;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Called when the node reports a new head. */
  readonly onHead: () => void;
}

export interface HeadSocket extends AsyncDisposable {
  /** Whether the node has confirmed the subscription of the present connection. */
  readonly isSubscribed: boolean;
  /** Whether the present connection has reported a head: nodes and proxies confirm subscriptions of which nothing comes. */
  readonly isTrusted: boolean;
  /** Opens a new connection, because heads were not reported on this one. */
  restart(): void;
}

const RECONNECT_PAUSES = { baseMs: 500, maxMs: 30_000 };
/** Time without a subscription after the first failure. */
const WARN_AFTER_MS = 60_000;
const SUBSCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] });

/** Subscribes to the new heads of a chain, and connects again whenever that ends. Nothing that it reports is stored. */
export function openHeadSocket(options: HeadSocketOptions): HeadSocket {
  const { url, openSocket, clock, random, logger, onHead } = options;
  const stopping = new AbortController();
  let isSubscribed = false;
  let isTrusted = false;
  let failingSinceMs: number | undefined;
  let isWarned = false;
  let failures = 0;
  let current: WebSocketConnection | undefined;

  function receive(data: unknown): void {
    const message = typeof data === 'string' ? parseMessage(data) : undefined;
    if (message === 'confirmed') {
      isSubscribed = true;
      failingSinceMs = undefined;
      isWarned = false;
    } else if (message === 'head') {
      isTrusted = isSubscribed;
      failures = 0;
    } else current?.close();
    // Also after the confirmation: heads before it were not reported.
    onHead();
  }

  /** A proxy may cut connections that are quiet: that is no problem. */
  function warnOfFailures(): void {
    const nowMs = clock.monotonicMs();
    failingSinceMs ??= nowMs;
    if (isWarned || stopping.signal.aborted || nowMs - failingSinceMs < WARN_AFTER_MS) return;
    isWarned = true;
    // The URL may hold a key.
    logger.warn('there has been no web socket for new heads for a minute; the RPC is polled');
  }

  /** Resolves when the connection has ended. */
  function connect(): Promise<void> {
    return new Promise((resolve) => {
      const socket = openSocket(url);
      current = socket;
      const end = (): void => {
        stopping.signal.removeEventListener('abort', end);
        isSubscribed = false;
        isTrusted = false;
        socket.close();
        onHead();
        resolve();
      };
      socket.addEventListener('open', () => socket.send(SUBSCRIBE));
      socket.addEventListener('message', ({ data }) => receive(data));
      socket.addEventListener('error', end);
      socket.addEventListener('close', end);
      stopping.signal.addEventListener('abort', end);
    });
  }

  const working = repeat(clock, stopping.signal, async () => {
    await connect();
    failures += 1;
    warnOfFailures();
    return backoffMs(failures, RECONNECT_PAUSES, random);
  });

  return {
    get isSubscribed() {
      return isSubscribed;
    },
    get isTrusted() {
      return isTrusted;
    },
    restart: () => current?.close(),
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error('the service stops'));
      await working;
    },
  };
}

/** Returns undefined if the node refuses the subscription, or sends something else. */
function parseMessage(text: string): 'confirmed' | 'head' | undefined {
  const message = tryParse(() => parseJson(text, 'message'));
  if (!isObject(message)) return undefined;
  const { id, result, method } = message;
  if (method === 'eth_subscription') return 'head';
  return id === 1 && typeof result === 'string' ? 'confirmed' : undefined;
}
