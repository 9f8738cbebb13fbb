/** A tenth of a tick: the most that the messages of all peers take that we did not request. */
const MAX_ALL_MS_PER_TICK = 25;
/** A peer may use at most this times what all have left (Choudhury and Hahne, as in `FairSemaphore`). */
const PEER_SHARE = 0.25;
/** What one peer alone gets by that. */
export const MAX_PEER_MS_PER_TICK = (PEER_SHARE / (1 + PEER_SHARE)) * MAX_ALL_MS_PER_TICK;

/**
 * The time that all peers together take for messages that we did not request, such as gossip, consensus or answers to nothing. The limit of
 * each peer shrinks with what all have used, so that many peers cannot take the thread, and one that sends little is never held.
 */
export class UnrequestedTime {
  #usedMs = 0;

  add(ms: number): void {
    this.#usedMs += ms;
  }

  /** @param ofPeerMs time that the peer has used */
  isUsedUp(ofPeerMs: number): boolean {
    return ofPeerMs > PEER_SHARE * Math.max(0, MAX_ALL_MS_PER_TICK - this.#usedMs);
  }

  /** Grants the time until the next tick. */
  tick(): void {
    this.#usedMs = Math.max(0, this.#usedMs - MAX_ALL_MS_PER_TICK);
  }
}
