import type { Socket } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import { clientNetwork } from '../access/client-identity.ts';

/** Bound of body chunks between two pauses. One read of 64 KB may have 11,000 one-byte chunks, which take some 20 ms. */
const MAX_PIECES = 256;
/** An aggregation takes some ten passes of the event loop, which should not each spend 20 ms on chunks. An idle pass takes microseconds. */
const PASSES_BETWEEN_READS = 4;

/**
 * Pauses connections whose bodies arrive in many small chunks, and resumes one every few passes of the event loop, round robin over client
 * addresses, so that they delay other requests by the chunks of one read. Bound: one entry for each connection.
 */
export class ReadScheduler {
  readonly #clock: Pick<Clock, 'afterTurn'>;
  /** Chunks that each connection has received since it was last resumed. */
  readonly #pieces = new WeakMap<Socket, number>();
  readonly #paused = new FairQueue<string, () => void>();

  constructor(clock: Pick<Clock, 'afterTurn'>) {
    this.#clock = clock;
  }

  /** Counts a chunk that a connection has received. */
  count(socket: Socket): void {
    const pieces = (this.#pieces.get(socket) ?? 0) + 1;
    this.#pieces.set(socket, pieces);
    if (pieces === MAX_PIECES) this.#pause(socket);
  }

  #pause(socket: Socket): void {
    const pause = (): void => void socket.pause();
    // Node resumes a connection when the body's stream is read.
    socket.on('resume', pause);
    pause();
    if (this.#paused.size === 0) this.#awaitTurn(PASSES_BETWEEN_READS);
    this.#paused.push(clientNetwork(socket.remoteAddress ?? ''), () => {
      this.#pieces.set(socket, 0);
      socket.off('resume', pause);
      // Node resumes a connection that it paused until answers are sent.
      const { _paused: isPausedByNode } = socket as Socket & { readonly _paused?: boolean };
      if (isPausedByNode !== true && !socket.destroyed) socket.resume();
    });
  }

  #awaitTurn(passes: number): void {
    this.#clock.afterTurn(() => {
      if (passes > 1) return this.#awaitTurn(passes - 1);
      this.#paused.shift()?.();
      if (this.#paused.size > 0) this.#awaitTurn(PASSES_BETWEEN_READS);
    });
  }
}
