import { equalBytes } from '../primitives/bytes.ts';
import type { Clock } from '../primitives/clock.ts';
import { type BlockchainID, idBytes, type NodeID } from '../primitives/ids.ts';
import type { AppError, AppResponse } from './gen/p2p_pb.js';
import { encodeAppRequestHead } from './messages.ts';

/** What became of an AppRequest. A peer's failure is a value: only the caller's own signal makes a request reject. */
export type AppOutcome =
  | { readonly kind: 'response'; readonly bytes: Uint8Array }
  /** An AppError. Codes above 0 are the VM's own; −1 undefined, −2 no handler, −3 not a validator, −4 throttled. */
  | { readonly kind: 'refused'; readonly code: number; readonly text: string }
  /** No answer in time. */
  | { readonly kind: 'silent' }
  /** No answer in time, though the peer has read the request: it answered a Ping that was sent after it. */
  | { readonly kind: 'ignored' }
  /** There is no connection, or it ended before an answer. */
  | NotConnected
  /** There was no room for it: neither the node nor the connection is at fault. */
  | NoRoom;

export interface NotConnected {
  readonly kind: 'unreachable';
  readonly reason: string;
}

export interface NoRoom {
  readonly kind: 'not_sent';
  readonly reason: string;
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

interface Pending {
  readonly chainID: Uint8Array;
  settle(outcome: AppOutcome): void;
  abort(): void;
}

/** The requests that end with one signal, which hears of one listener for all: it looks at each for every one that is added. */
interface SharedSignal {
  readonly pending: Set<Pending>;
  readonly onAbort: () => void;
}

/**
 * The requests that wait for an answer, by node and request ID. IDs are odd: even ones belong to the consensus engine of
 * EVM chains and vanish there. Bound: `maxPending` over all nodes; a request beyond it is not sent.
 */
export class AppRequests {
  readonly #clock: Clock;
  readonly #maxPending: number;
  readonly #pending = new Map<NodeID, Map<number, Pending>>();
  readonly #signals = new Map<AbortSignal, SharedSignal>();
  #size = 0;
  #nextID = 1;
  /** A fan-out asks many nodes about one chain: its bytes are decoded once. */
  #lastChain: { id: BlockchainID; bytes: Uint8Array } | undefined;

  constructor(clock: Clock, maxPending: number) {
    this.#clock = clock;
    this.#maxPending = maxPending;
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
    options: AppRequestOptions,
    target: RequestTarget,
  ): Promise<AppOutcome> {
    const { timeoutMs, signal } = options;
    if (signal.aborted) return Promise.reject(signal.reason);
    if (timeoutMs <= 0) return Promise.resolve({ kind: 'silent' });
    if (this.#size >= this.#maxPending) {
      return Promise.resolve({ kind: 'not_sent', reason: `${this.#maxPending} requests are waiting already` });
    }

    const ofNode = this.#pending.get(nodeID) ?? new Map<number, Pending>();
    const requestId = this.#takeID(ofNode);
    const chainBytes = this.#chainBytes(chainID);
    const head = { chainId: chainBytes, requestId, deadline: deadlineNs(timeoutMs) };
    const failure = target.send(encodeAppRequestHead(head, appBytes.length), appBytes);
    if (failure !== undefined) return Promise.resolve(failure);

    return new Promise((resolve, reject) => {
      let isAlive = (): boolean => false;
      const forget = (): void => {
        cancelPing();
        cancelTimer();
        this.#unfollow(signal, pending);
        this.#size -= 1;
        ofNode.delete(requestId);
        if (ofNode.size === 0) this.#pending.delete(nodeID);
      };
      const settle = (outcome: AppOutcome): void => {
        forget();
        resolve(outcome);
      };
      const cancelPing = this.#clock.after(timeoutMs / 2, () => {
        isAlive = target.ping();
      });
      // After a pause of this process a timer fires before what has come meanwhile is read: the node was not late, we were.
      const cancelTimer = this.#clock.after(timeoutMs, () =>
        this.#clock.afterTurn(() => {
          if (ofNode.get(requestId) === pending) settle({ kind: isAlive() ? 'ignored' : 'silent' });
        }),
      );
      const pending: Pending = {
        chainID: chainBytes,
        settle,
        abort: () => {
          forget();
          reject(signal.reason);
        },
      };
      this.#follow(signal, pending);
      ofNode.set(requestId, pending);
      this.#pending.set(nodeID, ofNode);
      this.#size += 1;
    });
  }

  /** An answer that no request waits for, such as a late one, is dropped. */
  onResponse(nodeID: NodeID, response: AppResponse): void {
    this.#find(nodeID, response)?.settle({ kind: 'response', bytes: response.appBytes });
  }

  onError(nodeID: NodeID, error: AppError): void {
    const text = error.errorMessage.slice(0, MAX_REFUSAL_TEXT_LENGTH);
    this.#find(nodeID, error)?.settle({ kind: 'refused', code: error.errorCode, text });
  }

  onDisconnected(nodeID: NodeID, reason: string): void {
    for (const pending of [...(this.#pending.get(nodeID)?.values() ?? [])]) {
      pending.settle({ kind: 'unreachable', reason });
    }
  }

  #follow(signal: AbortSignal, request: Pending): void {
    const known = this.#signals.get(signal);
    if (known !== undefined) {
      known.pending.add(request);
      return;
    }
    const pending = new Set([request]);
    const onAbort = (): void => {
      for (const each of [...pending]) each.abort();
    };
    this.#signals.set(signal, { pending, onAbort });
    signal.addEventListener('abort', onAbort, { once: true });
  }

  #unfollow(signal: AbortSignal, request: Pending): void {
    const shared = this.#signals.get(signal);
    if (shared === undefined) return;
    shared.pending.delete(request);
    if (shared.pending.size > 0) return;
    this.#signals.delete(signal);
    signal.removeEventListener('abort', shared.onAbort);
  }

  #find(nodeID: NodeID, answer: { chainId: Uint8Array; requestId: number }): Pending | undefined {
    const pending = this.#pending.get(nodeID)?.get(answer.requestId);
    return pending !== undefined && equalBytes(pending.chainID, answer.chainId) ? pending : undefined;
  }

  #takeID(taken: ReadonlyMap<number, unknown>): number {
    // After 2^31 requests the IDs start again, and one of the first may still be waiting.
    let id = this.#nextID;
    while (taken.has(id)) id = (id + 2) % U32_END;
    this.#nextID = (id + 2) % U32_END;
    return id;
  }

  #chainBytes(id: BlockchainID): Uint8Array {
    if (this.#lastChain?.id !== id) this.#lastChain = { id, bytes: idBytes(id) };
    return this.#lastChain.bytes;
  }
}

function deadlineNs(timeoutMs: number): bigint {
  return BigInt(Math.ceil(Math.min(timeoutMs, MAX_DEADLINE_MS))) * 1_000_000n;
}
