import type { Socket } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import { clientNetwork } from '../access/client-identity.ts';

/** Clients send a body in a few pieces. 64 KB of one-byte chunks, as much as Node reads at once, are 11,000 and take some 20 ms. */
const MAX_PIECES = 256;
/** An aggregation takes some ten passes of the event loop, which should not each have 20 ms for pieces. An idle pass takes microseconds. */
const PASSES_BETWEEN_READS = 4;

/** The pieces that one connection has brought since its last turn. */
export interface PieceCount {
  pieces: number;
}

/**
 * Pauses a connection whose bodies come in many small pieces, and resumes one in every few passes of the event loop, round robin over
 * client addresses, so that such connections delay other requests by the pieces of one read.
 *
 * Bound: one entry for each connection.
 */
export class ReadScheduler {
  readonly #clock: Pick<Clock, 'afterTurn'>;
  readonly #counts = new WeakMap<Socket, PieceCount>();
  readonly #paused = new FairQueue<string, () => void>();

  constructor(clock: Pick<Clock, 'afterTurn'>) {
    this.#clock = clock;
  }

  /** The count of a connection, from which {@link count} goes on. */
  countOf(socket: Socket): PieceCount {
    let count = this.#counts.get(socket);
    if (count === undefined) {
      count = { pieces: 0 };
      this.#counts.set(socket, count);
    }
    return count;
  }

  count(socket: Socket, count: PieceCount): void {
    count.pieces += 1;
    if (count.pieces === MAX_PIECES) this.#pause(socket, count);
  }

  #pause(socket: Socket, count: PieceCount): void {
    const pause = (): void => void socket.pause();
    // Node resumes a connection by itself whenever the body's stream is read.
    socket.on('resume', pause);
    pause();
    if (this.#paused.size === 0) this.#awaitTurn(PASSES_BETWEEN_READS);
    this.#paused.push(clientNetwork(socket.remoteAddress ?? ''), () => {
      count.pieces = 0;
      socket.off('resume', pause);
      // Where Node has paused the connection until answers are sent, it resumes it by itself.
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
