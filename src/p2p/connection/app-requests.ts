import type { Clock } from '../../lib/concurrency/clock.ts';
import { copyStart, equalBytes } from '../../lib/encoding/bytes.ts';
import { addTo } from '../../lib/encoding/counts.ts';
import { type BlockchainID, idBytes, type NodeID } from '../../warp/ids.ts';
import type { AppError, AppResponse } from '../gen/p2p_pb.js';
import { encodeAppRequestHead } from '../wire/messages.ts';

/** Outcome of an AppRequest. A peer's failure is a value: only the caller's signal makes a request reject. */
export type AppOutcome =
  | { readonly kind: 'response'; readonly bytes: Uint8Array }
  /** AppError. Codes above 0 are defined by the VM; −1 undefined, −2 no handler, −3 not a validator, −4 throttled. */
  | { readonly kind: 'refused'; readonly code: number; readonly text: string }
  /** No response in time. `request_dropped`: the peer answered a Ping that was sent after the request. */
  | { readonly kind: 'timed_out'; readonly reason: 'no_answer' | 'request_dropped' }
  /** There is no connection, or it ended before a response. */
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** A local limit was reached: neither the node nor the connection failed. */
  | { readonly kind: 'not_asked'; readonly reason: 'queue_full' };

/** Why a message could not be sent. */
export type SendFailure = Extract<AppOutcome, { kind: 'unreachable' | 'not_asked' }>;

export interface AppRequestOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Nodes cap deadlines at this value, and drop requests with absurd ones. */
const MAX_DEADLINE_MS = 10_000;
const U32_END = 2 ** 32;
/** In characters; clients see the text in answers and logs, and otherwise only the frame bounds it. */
const MAX_REFUSAL_TEXT_LENGTH = 300;

/** Connection that a request is sent over. */
export interface PeerConnection {
  /** Sends a payload in two parts. The second one may be sent to other peers, too. Returns why it could not. */
  send(payload: Uint8Array, shared: Uint8Array): SendFailure | undefined;
  /** Sends a Ping. The returned function reports whether its Pong has arrived. */
  ping(): () => boolean;
}

/** The caller's signal ended the request. */
export interface Aborted {
  readonly kind: 'aborted';
}

const ABORTED: Aborted = { kind: 'aborted' };

export interface AppRequestsHooks {
  /** Handles messages received from the node, before a request times out. */
  readonly beforeTimeout: (nodeID: NodeID) => void;
  /** Receives the outcome and duration of each request. */
  readonly onEnd: (outcome: AppOutcome | Aborted, ms: number) => void;
}

/** Requests that end with one signal. They share a listener, because adding one to a signal takes time proportional to its listeners. */
interface SharedSignal {
  readonly pending: Set<PendingRequest>;
  readonly onAbort: () => void;
}

interface PendingRequest {
  readonly nodeID: NodeID;
  readonly requestId: number;
  readonly chainID: Uint8Array;
  readonly signal: AbortSignal;
  readonly sentMs: number;
  readonly resolve: (outcome: AppOutcome) => void;
  readonly reject: (reason: unknown) => void;
  cancelTimer: () => void;
  /** Undefined until the Ping is sent. */
  hasPong: (() => boolean) | undefined;
}

/**
 * Requests that wait for a response. IDs are odd: even ones belong to the consensus engine of EVM chains, which drops other messages.
 * Bound: `maxPending` over all nodes; a request beyond it is not sent. One number for each connected node.
 */
export interface AppRequests {
  readonly size: number;
  /**
   * Sends a request and waits for its outcome. After half of the timeout it sends a Ping, to distinguish a node that ignores the request
   * from one that sends nothing.
   *
   * @param appBytes must not change afterwards: they may be queued, and sent to several nodes
   * @throws only the signal's reason
   */
  send(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    options: AppRequestOptions,
    target: PeerConnection,
  ): Promise<AppOutcome>;
  /** @returns whether the node owed an answer, perhaps to a request that has ended */
  onResponse(nodeID: NodeID, response: AppResponse): boolean;
  /** @returns as `onResponse` */
  onError(nodeID: NodeID, error: AppError): boolean;
  onDisconnected(nodeID: NodeID, reason: string): void;
}

export function createAppRequests(clock: Clock, maxPending: number, hooks: AppRequestsHooks): AppRequests {
  /** Mostly one request for each node, for which an array is the smallest collection. */
  const pending = new Map<NodeID, PendingRequest[]>();
  const signals = new Map<AbortSignal, SharedSignal>();
  /** Requests of each connected node that it has not answered, also those that ended before. */
  const owed = new Map<NodeID, number>();
  let size = 0;
  let nextID = 1;
  /** The requests of a fan-out are for one chain. */
  let lastChain: { id: BlockchainID; bytes: Uint8Array } | undefined;

  function send(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    { timeoutMs, signal }: AppRequestOptions,
    target: PeerConnection,
  ): Promise<AppOutcome> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (timeoutMs <= 0) return unsent({ kind: 'timed_out', reason: 'no_answer' });
    if (size >= maxPending) return unsent({ kind: 'not_asked', reason: 'queue_full' });
    const requestId = takeID(nodeID);
    if (lastChain?.id !== chainID) lastChain = { id: chainID, bytes: idBytes(chainID) };
    const { bytes: chainBytes } = lastChain;
    const head = { chainId: chainBytes, requestId, deadline: deadlineNs(timeoutMs) };
    const failure = target.send(encodeAppRequestHead(head, appBytes.length), appBytes);
    if (failure !== undefined) return unsent(failure);
    addTo(owed, nodeID, 1);
    const { promise, resolve, reject } = Promise.withResolvers<AppOutcome>();
    const request: PendingRequest = {
      nodeID,
      requestId,
      signal,
      resolve,
      reject,
      chainID: chainBytes,
      sentMs: clock.monotonicMs(),
      cancelTimer: clock.after(timeoutMs / 2, () => {
        request.hasPong = target.ping();
        const leftMs = Math.max(0, request.sentMs + timeoutMs - clock.monotonicMs());
        request.cancelTimer = clock.after(leftMs, () => onDue(request));
      }),
      hasPong: undefined,
    };
    const ofNode = pending.get(nodeID);
    if (ofNode === undefined) pending.set(nodeID, [request]);
    else ofNode.push(request);
    size += 1;
    listen(request);
    return promise;
  }

  function onDue(request: PendingRequest): void {
    // After a pause of this process, timers fire before sockets are read: the response may have arrived in time.
    clock.afterTurn(() => {
      hooks.beforeTimeout(request.nodeID);
      if (withID(request.nodeID, request.requestId) !== request) return;
      settle(request, { kind: 'timed_out', reason: request.hasPong?.() ? 'request_dropped' : 'no_answer' });
    });
  }

  function listen(request: PendingRequest): void {
    const { signal } = request;
    const known = signals.get(signal);
    if (known !== undefined) {
      known.pending.add(request);
      return;
    }
    const sharing = new Set([request]);
    const onAbort = (): void => {
      for (const each of Array.from(sharing)) {
        forget(each);
        hooks.onEnd(ABORTED, clock.monotonicMs() - each.sentMs);
        each.reject(signal.reason);
      }
    };
    signals.set(signal, { pending: sharing, onAbort });
    signal.addEventListener('abort', onAbort, { once: true });
  }

  function unsent(outcome: AppOutcome): Promise<AppOutcome> {
    hooks.onEnd(outcome, 0);
    return Promise.resolve(outcome);
  }

  function settle(request: PendingRequest, outcome: AppOutcome): void {
    forget(request);
    hooks.onEnd(outcome, clock.monotonicMs() - request.sentMs);
    request.resolve(outcome);
  }

  function forget(request: PendingRequest): void {
    request.cancelTimer();
    const { nodeID, signal } = request;
    const ofNode = pending.get(nodeID);
    if (ofNode?.length === 1) pending.delete(nodeID);
    else ofNode?.splice(ofNode.indexOf(request), 1);
    size -= 1;
    const shared = signals.get(signal);
    shared?.pending.delete(request);
    if (shared?.pending.size !== 0) return;
    signals.delete(signal);
    signal.removeEventListener('abort', shared.onAbort);
  }

  function find(nodeID: NodeID, answer: { chainId: Uint8Array; requestId: number }): PendingRequest | undefined {
    const request = withID(nodeID, answer.requestId);
    return request !== undefined && equalBytes(request.chainID, answer.chainId) ? request : undefined;
  }

  function withID(nodeID: NodeID, requestId: number): PendingRequest | undefined {
    return pending.get(nodeID)?.find((request) => request.requestId === requestId);
  }

  function takeID(nodeID: NodeID): number {
    // IDs start again after 2^31 requests, when an early one may still be pending.
    while (withID(nodeID, nextID) !== undefined) nextID = (nextID + 2) % U32_END;
    const id = nextID;
    nextID = (id + 2) % U32_END;
    return id;
  }

  /** Counts an answer. Returns whether the node owed one. */
  function takeOwed(nodeID: NodeID): boolean {
    if (!owed.has(nodeID)) return false;
    addTo(owed, nodeID, -1);
    return true;
  }

  return {
    get size() {
      return size;
    },
    send,
    onResponse(nodeID, response) {
      const request = find(nodeID, response);
      if (request !== undefined) settle(request, { kind: 'response', bytes: response.appBytes });
      return takeOwed(nodeID);
    },
    onError(nodeID, error) {
      const request = find(nodeID, error);
      const text = copyStart(error.errorMessage, MAX_REFUSAL_TEXT_LENGTH);
      if (request !== undefined) settle(request, { kind: 'refused', code: error.errorCode, text });
      return takeOwed(nodeID);
    },
    onDisconnected(nodeID, reason) {
      owed.delete(nodeID);
      for (const request of Array.from(pending.get(nodeID) ?? [])) settle(request, { kind: 'unreachable', reason });
    },
  };
}

function deadlineNs(timeoutMs: number): bigint {
  return BigInt(Math.ceil(Math.min(timeoutMs, MAX_DEADLINE_MS))) * 1_000_000n;
}
