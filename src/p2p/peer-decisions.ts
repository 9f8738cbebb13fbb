import type { Random } from '../primitives/clock.ts';
import type { NodeID } from '../primitives/ids.ts';
import type { Endpoint } from './address-book.ts';
import { isPublicAddress } from './ip-address.ts';

/** A node without a connection that has an address. */
export interface DialCandidate {
  readonly nodeID: NodeID;
  readonly wanted: boolean;
  /** Failed attempts since the last connection that lasted. */
  readonly failures: number;
  /** Monotonic; not before. */
  readonly nextDialAtMs: number;
}

export interface DialBudget {
  /** How many connections may be started now. */
  readonly total: number;
  /** How many of them may go to nodes that nobody wants, to learn addresses from them. */
  readonly unwanted: number;
}

/** Whom to dial now: wanted nodes first, of those whoever failed the fewest times, of those whoever waits the longest. */
export function planDials(candidates: Iterable<DialCandidate>, budget: DialBudget, nowMs: number): NodeID[] {
  if (budget.total <= 0) return [];
  const due = [...candidates]
    .filter((candidate) => candidate.nextDialAtMs <= nowMs)
    .sort((a, b) => Number(b.wanted) - Number(a.wanted) || a.failures - b.failures || a.nextDialAtMs - b.nextDialAtMs);
  const plan: NodeID[] = [];
  let unwanted = 0;
  for (const { nodeID, wanted } of due) {
    if (plan.length >= budget.total) break;
    if (!wanted) {
      if (unwanted >= budget.unwanted) break;
      unwanted += 1;
    }
    plan.push(nodeID);
  }
  return plan;
}

/** A connection that nobody wants any more. */
export interface UnwantedPeer {
  readonly nodeID: NodeID;
  /** Monotonic. */
  readonly unwantedSinceMs: number;
}

/** Which connections to close: those unwanted for longer than the grace, but for `keep` that stay to learn addresses from. */
export function planDisconnects(
  unwanted: readonly UnwantedPeer[],
  limits: { keep: number; graceMs: number },
  nowMs: number,
): NodeID[] {
  const surplus = unwanted.length - limits.keep;
  if (surplus <= 0) return [];
  return unwanted
    .filter((peer) => nowMs - peer.unwantedSinceMs >= limits.graceMs)
    .sort((a, b) => a.unwantedSinceMs - b.unwantedSinceMs)
    .slice(0, surplus)
    .map((peer) => peer.nodeID);
}

export interface BackoffLimits {
  readonly initialMs: number;
  readonly maxMs: number;
}

/**
 * The pause after a further failure, as the reference node's (avalanchego `network/tracked_ip.go`): grows by [1, 2) each time,
 * from the initial one, and is spread over the upper quarter once it reaches the maximum.
 *
 * @param previousMs the pause before, 0 after none
 */
export function nextBackoffMs(previousMs: number, limits: BackoffLimits, random: Random): number {
  const grown = (previousMs > 0 ? previousMs : limits.initialMs) * (1 + random());
  return grown <= limits.maxMs ? grown : (limits.maxMs * (3 + random())) / 4;
}

export interface SearchIntervals {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * The pause between two efforts to find what is missing: a tenth of the time since something was last missing or new. So
 * a validator that comes back elsewhere after a minute is found within some six seconds, while one that never comes back
 * costs next to nothing.
 */
export function searchIntervalMs(quietMs: number, intervals: SearchIntervals): number {
  return Math.min(Math.max(quietMs / 10, intervals.minMs), intervals.maxMs);
}

/** A peer that can be asked for addresses. */
export interface GossipSource {
  readonly nodeID: NodeID;
  /** How many new addresses its last answer had; undefined where it was never asked. */
  readonly lastNews: number | undefined;
}

/** Out of how many random sources the best is taken: enough to meet one of the few that know all subnets. */
const GOSSIP_SAMPLE = 8;

/**
 * Whom to ask for addresses. Only validators of the primary network know those of every subnet, so that among thousands
 * of L1 validators most answers are dry: of a random sample, those whose last answer had most to say are asked, and those
 * never asked before.
 */
export function chooseGossipSources(sources: readonly GossipSource[], count: number, random: Random): NodeID[] {
  const pool = [...sources];
  const sample: GossipSource[] = [];
  while (sample.length < GOSSIP_SAMPLE + count && pool.length > 0) {
    const [drawn] = pool.splice(Math.floor(random() * pool.length), 1);
    if (drawn !== undefined) sample.push(drawn);
  }
  const expected = (source: GossipSource): number => source.lastNews ?? Number.MAX_SAFE_INTEGER;
  return sample
    .sort((a, b) => expected(b) - expected(a))
    .slice(0, count)
    .map((source) => source.nodeID);
}

/** The endpoints that may be dialled. Host names are taken only where any address may be, since nobody checks where they lead. */
export function permittedEndpoints(
  endpoints: readonly Endpoint[],
  allowPrivateAddresses: boolean,
): readonly Endpoint[] {
  return allowPrivateAddresses ? endpoints : endpoints.filter((endpoint) => isPublicAddress(endpoint.host));
}
