import type { Random } from '../../lib/concurrency/clock.ts';
import type { NodeID } from '../../warp/ids.ts';

/** Node with an address and without a connection, which may be dialled now. */
export interface DialCandidate {
  readonly nodeID: NodeID;
  readonly rank: 'preferred' | 'wanted' | 'unwanted';
  /** Failed attempts since the last connection that lasted. */
  readonly failures: number;
  /** Earliest time, monotonic. */
  readonly nextDialAtMs: number;
}

/** Connections that may be started now. */
interface DialBudget {
  readonly total: number;
  /** Part for wanted nodes that are not preferred. */
  readonly others: number;
  /** Part for unwanted nodes, which are dialled to learn addresses. */
  readonly unwanted: number;
}

interface DialLoad {
  /** Dials that the rate limit permits. */
  readonly tokens: number;
  readonly openCount: number;
  readonly connectingCount: number;
  /** Preferred nodes without a connection; undefined if no node is preferred, which reserves nothing. */
  readonly preferredMissing?: number | undefined;
}

/** Limit for nodes that are not preferred: an L1 with unresponsive nodes must not delay the operator's own for a dial timeout of 10 s. */
const OTHERS_SHARE_OF_DIALS = 0.75;
/** Share of connections reserved for future preferred nodes: 500 of 12,000. */
const PREFERRED_HEADROOM = 1 / 24;

/** Dials before a yield to the event loop; each takes a third of a millisecond. */
export const MAX_DIALS_PER_STEP = 32;

export function dialBudget(
  load: DialLoad,
  limits: { readonly maxConnecting: number; readonly maxConnections: number; readonly gossipSources: number },
): DialBudget {
  const { maxConnecting, maxConnections, gossipSources } = limits;
  const { connectingCount, openCount, preferredMissing } = load;
  const total = Math.min(
    Math.floor(load.tokens),
    maxConnecting - connectingCount,
    maxConnections - openCount,
    MAX_DIALS_PER_STEP,
  );
  const others =
    preferredMissing === undefined
      ? total
      : Math.min(
          total,
          Math.floor(OTHERS_SHARE_OF_DIALS * maxConnecting) - connectingCount,
          maxConnections - Math.floor(PREFERRED_HEADROOM * maxConnections) - preferredMissing - openCount,
        );
  return { total, others, unwanted: gossipSources - openCount };
}

/** Delay in the dial order for each failure. Bounded, because nodes that sign new addresses all the time never have failures. */
const FAILURE_MS = 5_000;
const MAX_COUNTED_FAILURES = 6;

/** Chooses the nodes to dial: preferred ones, other wanted ones, unwanted ones, in each group those with few failures or a long wait. */
export function planDials(candidates: Iterable<DialCandidate>, budget: DialBudget): NodeID[] {
  const groups = Map.groupBy(candidates, ({ rank }) => rank);
  const longestWaiting = (group: DialCandidate['rank'], max: number): DialCandidate[] =>
    (groups.get(group) ?? []).sort((a, b) => waitingSinceMs(a) - waitingSinceMs(b)).slice(0, Math.max(0, max));
  return [
    ...longestWaiting('preferred', budget.total),
    ...longestWaiting('wanted', budget.others),
    ...longestWaiting('unwanted', budget.unwanted),
  ]
    .slice(0, Math.max(0, budget.total))
    .map(({ nodeID }) => nodeID);
}

function waitingSinceMs({ nextDialAtMs, failures }: DialCandidate): number {
  return nextDialAtMs + FAILURE_MS * Math.min(failures, MAX_COUNTED_FAILURES);
}

/** Pause after the first failure, multiplied by a random factor of [1, 2). */
const INITIAL_BACKOFF_MS = 1_000;
export const MAX_BACKOFF_MS = 60_000;

/**
 * Returns the pause after another failure (avalanchego `network/tracked_ip.go`): it grows by a random factor of [1, 2), and is random in
 * the upper quarter at the maximum. `backoffMs` would double it, so that thousands of validators that failed together in an outage would
 * be dialled again in waves.
 *
 * @param previousMs 0 before the first failure
 */
export function nextRedialPauseMs(previousMs: number, random: Random): number {
  const grown = (previousMs > 0 ? previousMs : INITIAL_BACKOFF_MS) * (1 + random());
  return grown <= MAX_BACKOFF_MS ? grown : (MAX_BACKOFF_MS * (3 + random())) / 4;
}

export interface SearchIntervals {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * Returns the pause between two searches for missing nodes: a tenth of the time since the last change. A validator with a new address
 * after a minute is found within some six seconds, while one that stays away costs next to nothing.
 */
export function searchIntervalMs(quietMs: number, intervals: SearchIntervals): number {
  return Math.min(Math.max(quietMs / 10, intervals.minMs), intervals.maxMs);
}

/** Sources drawn in addition to those needed, to include one of the few that know all subnets. */
const GOSSIP_SAMPLE = 8;

/**
 * Chooses peers for GetPeerList from a random sample: first those never asked, then by new addresses in the last response. Only validators
 * of the primary network know the addresses of every subnet; most of thousands of L1 validators have none.
 *
 * @param lastNewsOf new addresses in a peer's last response; undefined before the first
 */
export function chooseGossipSources(
  peers: readonly NodeID[],
  lastNewsOf: (nodeID: NodeID) => number | undefined,
  count: number,
  random: Random,
): NodeID[] {
  return drawSome(peers, GOSSIP_SAMPLE + count, random)
    .map((nodeID) => ({ nodeID, expected: lastNewsOf(nodeID) ?? Number.MAX_SAFE_INTEGER }))
    .sort((a, b) => b.expected - a.expected)
    .slice(0, count)
    .map(({ nodeID }) => nodeID);
}

/** Partial Fisher-Yates shuffle. */
function drawSome<T>(items: readonly T[], count: number, random: Random): T[] {
  const drawn = [...items];
  const end = Math.min(count, items.length);
  for (let index = 0; index < end; index += 1) {
    const other = index + Math.floor(random() * (drawn.length - index));
    [drawn[index], drawn[other]] = [drawn[other] as T, drawn[index] as T];
  }
  return drawn.slice(0, end);
}
