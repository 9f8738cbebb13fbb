import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { type Clock, type Random, repeat } from '../../lib/concurrency/clock.ts';
import { isObject } from '../../lib/encoding/is-object.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import type { OpenWebSocket } from '../../lib/net/web-socket.ts';
import type { Logger } from '../../telemetry/logger.ts';

export interface HeadSocketOptions {
  readonly endpoint: ApiEndpoint;
  readonly openSocket: OpenWebSocket;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'warn'>;
  /** Called when the node reports a new head, and when a connection begins or ends to report them. */
  readonly onHead: () => void;
}

export interface HeadSocket extends AsyncDisposable {
  /** Whether the node has confirmed the subscription of the present connection. */
  readonly isSubscribed: boolean;
  /** Why the last connection has ended, for operators. */
  readonly endReason: string | undefined;
  /** Notes a new head that the node has not reported. A connection that reports none afterwards is replaced. */
  noteMissedHead(): void;
}

const RECONNECT_PAUSES = { baseMs: 500, maxMs: 30_000 };
/** Proxies cut connections that are quiet, often after a minute. A connection on which nothing comes until the next ping is replaced. */
const PING_MS = 20_000;
/** Nodes and proxies confirm subscriptions of which nothing comes. */
const SILENT_MS = 30_000;
/** Time without a connection that works, after the first failure. */
const WARN_AFTER_MS = 60_000;
const SUBSCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] });

/** Subscribes to the new heads of a chain, and connects again whenever that ends. Nothing that it reports is stored. */
export function openHeadSocket(options: HeadSocketOptions): HeadSocket {
  const { endpoint, openSocket, clock, random, logger, onHead } = options;
  const stopping = new AbortController();
  let isSubscribed = false;
  let endReason: string | undefined;
  /** Since when a head has not been reported. */
  let missingSinceMs: number | undefined;
  /** Failures since a connection has worked, and since when there are any. */
  let failures = 0;
  let failingSinceMs: number | undefined;
  let isWarned = false;
  /** Ends the present connection. */
  let end: (reason: string) => void = () => undefined;

  function noteWorking(): void {
    failures = 0;
    failingSinceMs = undefined;
    isWarned = false;
  }

  /** A proxy may cut a connection: that is no problem. */
  function noteFailure(): void {
    failures += 1;
    const nowMs = clock.monotonicMs();
    failingSinceMs ??= nowMs;
    if (isWarned || stopping.signal.aborted || nowMs - failingSinceMs < WARN_AFTER_MS) return;
    isWarned = true;
    // The URL may hold a key.
    const text = 'there has been no web socket for new heads for a minute; the RPC is polled alone';
    logger.warn({ reason: endReason }, text);
  }

  function receive(data: unknown): void {
    const message = typeof data === 'string' ? parseMessage(data) : undefined;
    if (message === undefined) {
      end('it refused the subscription, or sent something else');
      return;
    }
    if (message === 'confirmed') isSubscribed = true;
    else {
      missingSinceMs = undefined;
      noteWorking();
    }
    // Also after the confirmation: heads before it were not reported.
    onHead();
  }

  /** Resolves when the connection has ended. */
  function connect(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = openSocket(endpoint);
    let isOver = false;
    /** Whether something has come since the last ping. */
    let isAlive = true;
    const finish = (reason: string | undefined): void => {
      if (isOver) return;
      isOver = true;
      isSubscribed = false;
      endReason = reason;
      stopping.signal.removeEventListener('abort', stop);
      cancelPing();
      socket.close();
      onHead();
      resolve();
    };
    const stop = (): void => finish(undefined);
    const ping = (): void => {
      if (!isAlive) {
        finish('it answered no ping');
        return;
      }
      if (isSubscribed && missingSinceMs === undefined) noteWorking();
      isAlive = false;
      socket.ping();
      cancelPing = clock.after(PING_MS, ping);
    };
    let cancelPing = clock.after(PING_MS, ping);
    end = finish;
    missingSinceMs = undefined;
    stopping.signal.addEventListener('abort', stop);
    socket.addEventListener('open', () => socket.send(SUBSCRIBE));
    socket.addEventListener('pong', () => {
      isAlive = true;
    });
    socket.addEventListener('message', ({ data }) => {
      isAlive = true;
      if (!isOver) receive(data);
    });
    socket.addEventListener('close', ({ reason }) => finish(reason));
    return promise;
  }

  const working = repeat(clock, stopping.signal, async () => {
    await connect();
    noteFailure();
    return backoffMs(failures, RECONNECT_PAUSES, random);
  });

  return {
    get isSubscribed() {
      return isSubscribed;
    },
    get endReason() {
      return endReason;
    },
    noteMissedHead(): void {
      const nowMs = clock.monotonicMs();
      missingSinceMs ??= nowMs;
      if (nowMs - missingSinceMs >= SILENT_MS) end('it reported no head, and the chain had new ones');
    },
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
