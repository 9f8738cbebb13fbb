import type { Clock } from '../../lib/concurrency/clock.ts';
import { copyStart, equalBytes } from '../../lib/encoding/bytes.ts';
import { type BlockchainID, idBytes, type NodeID } from '../../warp/ids.ts';
import type { AppError, AppResponse } from '../gen/p2p_pb.js';
import { encodeAppRequestHead } from '../wire/messages.ts';
import { AnswerDeadlines, type Awaited } from './answer-deadlines.ts';

/** What became of an AppRequest. A peer's failure is a value: only the caller's own signal makes a request reject. */
export type AppOutcome =
  | { readonly kind: 'response'; readonly bytes: Uint8Array }
  /** An AppError. Codes above 0 are the VM's own; −1 undefined, −2 no handler, −3 not a validator, −4 throttled. */
  | { readonly kind: 'refused'; readonly code: number; readonly text: string }
  /** No answer in time. `request_dropped`: the peer has read the request, as it answered a Ping that was sent after it. */
  | { readonly kind: 'timed_out'; readonly reason: 'no_answer' | 'request_dropped' }
  /** There is no connection, or it ended before an answer. */
  | NotConnected
  /** There was no room for it: neither the node nor the connection is at fault. */
  | NoRoom;

export interface NotConnected {
  readonly kind: 'unreachable';
  readonly reason: string;
}

export interface NoRoom {
  readonly kind: 'not_asked';
  readonly reason: 'queue_full';
}

export interface AppRequestOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Nodes shorten longer deadlines to this, and drop requests with absurd ones without a word. */
const MAX_DEADLINE_MS = 10_000;
const U32_END = 2 ** 32;
/** Characters kept of a peer's text. It is shown to callers, and otherwise only the frame bounds it. */
const MAX_REFUSAL_TEXT_LENGTH = 512;

/** A connection, as far as a request needs it. */
export interface RequestTarget {
  /** Sends a payload in two parts, the second of which others may be sent as well. Where it cannot, it returns why. */
  send(payload: Uint8Array, shared: Uint8Array): NotConnected | NoRoom | undefined;
  /** Sends a Ping. The function returned says whether its Pong has come by the time of the call. */
  ping(): () => boolean;
}

/** The caller's signal ended the request. */
export interface Aborted {
  readonly kind: 'aborted';
}

const ABORTED: Aborted = { kind: 'aborted' };

export interface AppRequestsHooks {
  /** Called before a request counts as unanswered: handles what has come from the node by now. */
  readonly beforeTimeout: (nodeID: NodeID) => void;
  /** Hears how each request ended, and after how long. */
  readonly onEnd: (outcome: AppOutcome | Aborted, ms: number) => void;
}

const NO_HOOKS: AppRequestsHooks = { beforeTimeout: () => undefined, onEnd: () => undefined };

/** The requests that end with one signal, which hears of one listener for all: it looks at each for every one that is added. */
interface SharedSignal {
  readonly pending: Set<PendingRequest>;
  readonly onAbort: () => void;
}

/** A request that was sent. There may be thousands: what each needs is here, and nothing in functions of its own. */
class PendingRequest implements Awaited {
  readonly nodeID: NodeID;
  readonly requestId: number;
  readonly chainID: Uint8Array;
  readonly signal: AbortSignal;
  readonly sentMs: number;
  readonly target: RequestTarget;
  readonly owner: AppRequests;
  /** Undefined once its time has passed. */
  deadlines: AnswerDeadlines | undefined;
  before: Awaited | undefined;
  after: Awaited | undefined;
  /** To the same node, the one sent before. */
  nextOfNode: PendingRequest | undefined;
  isAlive: (() => boolean) | undefined;
  resolve: (outcome: AppOutcome) => void = () => undefined;
  reject: (reason: unknown) => void = () => undefined;

  constructor(
    facts: Pick<PendingRequest, 'nodeID' | 'requestId' | 'chainID' | 'signal' | 'sentMs' | 'target' | 'owner'> & {
      readonly deadlines: AnswerDeadlines;
    },
  ) {
    this.nodeID = facts.nodeID;
    this.requestId = facts.requestId;
    this.chainID = facts.chainID;
    this.signal = facts.signal;
    this.sentMs = facts.sentMs;
    this.target = facts.target;
    this.owner = facts.owner;
    this.deadlines = facts.deadlines;
  }

  onHalf(): void {
    this.isAlive = this.target.ping();
  }

  onDue(): void {
    this.owner.onDue(this);
  }
}

/**
 * The requests that wait for an answer, by node and request ID. IDs are odd: even ones belong to the consensus engine of
 * EVM chains and vanish there. Bound: `maxPending` over all nodes; a request beyond it is not sent.
 */
export class AppRequests {
  readonly #clock: Clock;
  readonly #maxPending: number;
  readonly #beforeTimeout: AppRequestsHooks['beforeTimeout'];
  readonly #onEnd: AppRequestsHooks['onEnd'];
  /** Of each node the one sent last, which knows those before: there is mostly one, and a map for it would be larger than itself. */
  readonly #pending = new Map<NodeID, PendingRequest>();
  readonly #signals = new Map<AbortSignal, SharedSignal>();
  /** By the time that a request has. */
  readonly #deadlines = new Map<number, AnswerDeadlines>();
  #size = 0;
  #nextID = 1;
  #lastDeadline: { timeoutMs: number; ns: bigint } | undefined;
  /** A fan-out asks many nodes about one chain: its bytes are decoded once. */
  #lastChain: { id: BlockchainID; bytes: Uint8Array } | undefined;

  constructor(clock: Clock, maxPending: number, { beforeTimeout, onEnd }: AppRequestsHooks = NO_HOOKS) {
    this.#clock = clock;
    this.#maxPending = maxPending;
    this.#beforeTimeout = beforeTimeout;
    this.#onEnd = onEnd;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Sends one request and waits for its end. Halfway through the time it sends a Ping after it, to tell a node that ignores
   * the request from one that is silent altogether.
   *
   * @param appBytes are sent as they are, perhaps later, and to others too: nobody may change them
   * @throws the signal's reason, and nothing else
   */
  send(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    { timeoutMs, signal }: AppRequestOptions,
    target: RequestTarget,
  ): Promise<AppOutcome> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (timeoutMs <= 0) return this.#unsent({ kind: 'timed_out', reason: 'no_answer' });
    if (this.#size >= this.#maxPending) return this.#unsent({ kind: 'not_asked', reason: 'queue_full' });
    const requestId = this.#takeID(nodeID);
    const chainBytes = this.#chainBytes(chainID);
    const head = { chainId: chainBytes, requestId, deadline: this.#deadlineNs(timeoutMs) };
    const failure = target.send(encodeAppRequestHead(head, appBytes.length), appBytes);
    if (failure !== undefined) return this.#unsent(failure);
    const request = new PendingRequest({
      ...{ nodeID, requestId, signal, target },
      chainID: chainBytes,
      owner: this,
      sentMs: this.#clock.monotonicMs(),
      deadlines: this.#deadlinesOf(timeoutMs),
    });
    return new Promise((resolve, reject) => {
      request.resolve = resolve;
      request.reject = reject;
      this.#add(request);
    });
  }

  /** An answer that no request waits for, such as a late one, is dropped. */
  onResponse(nodeID: NodeID, response: AppResponse): void {
    const request = this.#find(nodeID, response);
    if (request !== undefined) this.#settle(request, { kind: 'response', bytes: response.appBytes });
  }

  onError(nodeID: NodeID, error: AppError): void {
    const request = this.#find(nodeID, error);
    const text = copyStart(error.errorMessage, MAX_REFUSAL_TEXT_LENGTH);
    if (request !== undefined) this.#settle(request, { kind: 'refused', code: error.errorCode, text });
  }

  onDisconnected(nodeID: NodeID, reason: string): void {
    for (;;) {
      const request = this.#pending.get(nodeID);
      if (request === undefined) return;
      this.#settle(request, { kind: 'unreachable', reason });
    }
  }

  /** The time of a request has passed. */
  onDue(request: PendingRequest): void {
    this.#leaveDeadlines(request);
    // After a pause of this process a timer fires before what has come meanwhile is read: the node was not late, we were.
    this.#clock.afterTurn(() => {
      this.#beforeTimeout(request.nodeID);
      if (!this.#isPending(request)) return;
      const reason = request.isAlive?.() === true ? 'request_dropped' : 'no_answer';
      this.#settle(request, { kind: 'timed_out', reason });
    });
  }

  #add(request: PendingRequest): void {
    const { nodeID, signal } = request;
    request.deadlines?.add(request);
    request.nextOfNode = this.#pending.get(nodeID);
    this.#pending.set(nodeID, request);
    this.#size += 1;
    const known = this.#signals.get(signal);
    if (known !== undefined) {
      known.pending.add(request);
      return;
    }
    const pending = new Set([request]);
    const onAbort = (): void => {
      for (const each of [...pending]) {
        this.#forget(each);
        this.#onEnd(ABORTED, this.#clock.monotonicMs() - each.sentMs);
        each.reject(signal.reason);
      }
    };
    this.#signals.set(signal, { pending, onAbort });
    signal.addEventListener('abort', onAbort, { once: true });
  }

  #unsent(outcome: AppOutcome): Promise<AppOutcome> {
    this.#onEnd(outcome, 0);
    return Promise.resolve(outcome);
  }

  #settle(request: PendingRequest, outcome: AppOutcome): void {
    this.#forget(request);
    this.#onEnd(outcome, this.#clock.monotonicMs() - request.sentMs);
    request.resolve(outcome);
  }

  #forget(request: PendingRequest): void {
    this.#leaveDeadlines(request);
    this.#unfollow(request);
    this.#size -= 1;
    const { nodeID } = request;
    const last = this.#pending.get(nodeID);
    if (last === request) {
      if (request.nextOfNode === undefined) this.#pending.delete(nodeID);
      else this.#pending.set(nodeID, request.nextOfNode);
      return;
    }
    let later = last;
    while (later !== undefined && later.nextOfNode !== request) later = later.nextOfNode;
    if (later !== undefined) later.nextOfNode = request.nextOfNode;
  }

  #deadlinesOf(timeoutMs: number): AnswerDeadlines {
    let deadlines = this.#deadlines.get(timeoutMs);
    if (deadlines === undefined) {
      deadlines = new AnswerDeadlines(this.#clock, timeoutMs);
      this.#deadlines.set(timeoutMs, deadlines);
    }
    return deadlines;
  }

  #leaveDeadlines(request: PendingRequest): void {
    const { deadlines } = request;
    if (deadlines === undefined) return;
    request.deadlines = undefined;
    deadlines.remove(request);
    if (deadlines.isEmpty) this.#deadlines.delete(deadlines.timeoutMs);
  }

  #unfollow(request: PendingRequest): void {
    const { signal } = request;
    const shared = this.#signals.get(signal);
    if (shared === undefined) return;
    shared.pending.delete(request);
    if (shared.pending.size > 0) return;
    this.#signals.delete(signal);
    signal.removeEventListener('abort', shared.onAbort);
  }

  #isPending(request: PendingRequest): boolean {
    return this.#withID(request.nodeID, request.requestId) === request;
  }

  #withID(nodeID: NodeID, requestId: number): PendingRequest | undefined {
    let request = this.#pending.get(nodeID);
    while (request !== undefined && request.requestId !== requestId) request = request.nextOfNode;
    return request;
  }

  #find(nodeID: NodeID, answer: { chainId: Uint8Array; requestId: number }): PendingRequest | undefined {
    const request = this.#withID(nodeID, answer.requestId);
    return request !== undefined && equalBytes(request.chainID, answer.chainId) ? request : undefined;
  }

  #takeID(nodeID: NodeID): number {
    // After 2^31 requests the IDs start again, and one of the first may still be waiting.
    let id = this.#nextID;
    while (this.#withID(nodeID, id) !== undefined) id = (id + 2) % U32_END;
    this.#nextID = (id + 2) % U32_END;
    return id;
  }

  #chainBytes(id: BlockchainID): Uint8Array {
    if (this.#lastChain?.id !== id) this.#lastChain = { id, bytes: idBytes(id) };
    return this.#lastChain.bytes;
  }

  /** Mostly the same as the last time. */
  #deadlineNs(timeoutMs: number): bigint {
    if (this.#lastDeadline?.timeoutMs !== timeoutMs) this.#lastDeadline = { timeoutMs, ns: deadlineNs(timeoutMs) };
    return this.#lastDeadline.ns;
  }
}

function deadlineNs(timeoutMs: number): bigint {
  return BigInt(Math.ceil(Math.min(timeoutMs, MAX_DEADLINE_MS))) * 1_000_000n;
}
