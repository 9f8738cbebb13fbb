import type { SignatureQuery, SignatureSource } from '../../../src/aggregation/validators/signature-source.ts';
import type { AttemptOutcome } from '../../../src/aggregation/validators/validator-outcome.ts';
import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import type { NodeID } from '../../../src/warp/ids.ts';

/** What a node does with one request. */
export interface Answer {
  /** Beyond the request's own timeout it is a timeout. */
  readonly afterMs: number;
  readonly outcome: AttemptOutcome;
  /** The connection ends with the answer. */
  readonly disconnects?: boolean;
}

/** @param attempt 1 for the node's first request */
export type Behaviour = (query: SignatureQuery, attempt: number) => Answer;

export interface Call {
  readonly nodeID: NodeID;
  readonly atMs: number;
  readonly query: SignatureQuery;
}

/** A {@link SignatureSource} whose nodes do as the test says, on the test's clock. */
export class ScriptedSource implements SignatureSource {
  readonly calls: Call[] = [];
  readonly #clock: Clock;
  readonly #behaviours = new Map<NodeID, Behaviour>();
  readonly #attempts = new Map<NodeID, number>();
  readonly #connected = new Set<NodeID>();
  readonly #listeners = new Set<() => void>();
  inFlight = 0;
  abortedCalls = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  /** Adds a connected node. */
  add(nodeID: NodeID, behaviour: Behaviour): void {
    this.#behaviours.set(nodeID, behaviour);
    this.#connected.add(nodeID);
  }

  connect(nodeID: NodeID): void {
    this.#connected.add(nodeID);
    for (const listener of this.#listeners) listener();
  }

  disconnect(nodeID: NodeID): void {
    this.#connected.delete(nodeID);
    for (const listener of this.#listeners) listener();
  }

  track(): number {
    return 0;
  }

  isConnected(nodeID: NodeID): boolean {
    return this.#connected.has(nodeID);
  }

  whyUnreachable(nodeID: NodeID): string {
    return this.isConnected(nodeID) ? 'a mistake: it is connected' : 'no address known';
  }

  onConnectionChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  requestSignature(
    nodeID: NodeID,
    query: SignatureQuery,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<AttemptOutcome> {
    signal.throwIfAborted();
    const attempt = (this.#attempts.get(nodeID) ?? 0) + 1;
    this.#attempts.set(nodeID, attempt);
    this.calls.push({ nodeID, atMs: this.#clock.monotonicMs(), query });
    const behaviour = this.#behaviours.get(nodeID);
    if (behaviour === undefined) throw new Error(`a request to ${nodeID}, which the test does not know`);
    const { afterMs, outcome, disconnects } = behaviour(query, attempt);
    this.inFlight += 1;
    return new Promise((resolve, reject) => {
      const finish = (end: () => void): void => {
        cancel();
        signal.removeEventListener('abort', onAbort);
        this.inFlight -= 1;
        end();
      };
      const onAbort = (): void => {
        this.abortedCalls += 1;
        finish(() => reject(signal.reason));
      };
      const cancel = this.#clock.after(Math.min(afterMs, timeoutMs), () => {
        if (disconnects) this.disconnect(nodeID);
        finish(() => resolve(afterMs < timeoutMs ? outcome : { kind: 'timed_out', reason: 'no_answer' }));
      });
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}
