import type { NodeID } from '../primitives/ids.ts';
import { createLru } from '../primitives/lru.ts';
import { TokenBucket } from './token-bucket.ts';

/**
 * For each dial that is earned. An address is worth a dial at most, and most that come are known; at 50 dials a second these are
 * verifications for a seventh of one core.
 */
const PER_DIAL = 8;
/** Of one peer: nodes send 15 addresses at a time, and mostly known ones. */
const OF_PEER = { atOnce: 128, perSecond: 8 };
/** Nodes verify what they pass on, so that a wrong one is hardly ever an accident. */
const PRICE_OF_WRONG = 8;
/** All that are connected. */
const MAX_PEERS = 20_000;

/**
 * How many signatures of addresses are verified: each takes a third of a millisecond. A peer can sign new addresses of its own nodes all the
 * time, and fifty validators of a stranger's L1, each of which is dialled once a second for such an address and hands over 64 of them, would
 * take a whole core. What is not verified is passed on by others, or later: peers send what our filter lacks. Nodes that are wanted have a share of
 * their own, as large again: new addresses of nodes that nobody wants, of which strangers can make as many as they like, do not use it up.
 */
export class VerificationBudget {
  readonly #ofWanted: TokenBucket;
  readonly #ofOthers: TokenBucket;
  readonly #ofPeers = createLru<NodeID, TokenBucket>(MAX_PEERS);

  constructor(dialsPerSecond: number, nowMs: number) {
    const perSecond = PER_DIAL * dialsPerSecond;
    this.#ofWanted = new TokenBucket({ atOnce: perSecond, perSecond }, nowMs);
    this.#ofOthers = new TokenBucket({ atOnce: perSecond, perSecond }, nowMs);
  }

  /**
   * Takes one, where there is one left for what this peer has sent.
   *
   * @param isWanted whether the node is whose address it is
   */
  take(peer: NodeID, isWanted: boolean, nowMs: number): boolean {
    const shared = isWanted ? this.#ofWanted : this.#ofOthers;
    let ofPeer = this.#ofPeers.get(peer);
    if (ofPeer === undefined) {
      ofPeer = new TokenBucket(OF_PEER, nowMs);
      this.#ofPeers.set(peer, ofPeer);
    }
    if (ofPeer.left(nowMs) < 1 || shared.left(nowMs) < 1) return false;
    ofPeer.spend(1);
    shared.spend(1);
    return true;
  }

  /** What was taken for something of this peer has shown that it is wrong. */
  wasWrong(peer: NodeID): void {
    this.#ofPeers.get(peer)?.spend(PRICE_OF_WRONG - 1);
  }
}
