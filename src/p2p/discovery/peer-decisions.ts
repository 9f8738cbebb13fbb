import type { Random } from '../../lib/concurrency/clock.ts';
import type { NodeID } from '../../warp/ids.ts';
import { isPublicAddress } from '../wire/ip-address.ts';
import type { Endpoint } from './address-book.ts';

/** A node without a connection that has an address. */
export interface DialCandidate {
  readonly nodeID: NodeID;
  readonly wanted: boolean;
  /** Whether it comes before other wanted ones. */
  readonly preferred?: boolean;
  /** Failed attempts since the last connection that lasted. */
  readonly failures: number;
  /** Monotonic; not before. */
  readonly nextDialAtMs: number;
}

export interface DialBudget {
  /** How many connections may be started now. */
  readonly total: number;
  /** How many of them may go to wanted nodes that are not preferred. */
  readonly others: number;
  /** How many of them may go to nodes that nobody wants, to learn addresses from them. */
  readonly unwanted: number;
}

/** What is going on, as far as it limits further dials. */
export interface DialLoad {
  /** Dials earned by the time that has passed. */
  readonly tokens: number;
  readonly openCount: number;
  readonly connectingCount: number;
  /** Of those connecting, how many were dialled in the last {@link YOUNG_DIAL_MS}. */
  readonly youngCount: number;
  /** Preferred nodes without a connection; undefined where no node is preferred, so that nothing is kept for any. */
  readonly preferredMissing?: number | undefined;
}

/**
 * Of dials under way, what nodes that are not preferred may have together: whoever names an L1 whose nodes all hang must not
 * hold up those of the operator's own for the ten seconds that a dial may take.
 */
const OTHERS_SHARE_OF_DIALS = 0.75;
/** Of connections: kept for preferred nodes that are yet to come. 500 of 12,000. */
const PREFERRED_HEADROOM = 1 / 24;

/** A dial takes a third of a millisecond of our time: after this many, other work has its turn. */
export const MAX_DIALS_PER_STEP = 32;
/**
 * Young dials that may be under way: TLS takes a millisecond or two of our time for each, and hundreds of them at once would
 * hold up everything else for a second. Older ones do not count, as they hang without taking any of our time.
 */
export const MAX_YOUNG_DIALS = 100;
export const YOUNG_DIAL_MS = 2_000;

export function dialBudget(
  load: DialLoad,
  limits: { readonly maxConnecting: number; readonly maxConnections: number; readonly gossipSources: number },
): DialBudget {
  const { maxConnecting, maxConnections, gossipSources } = limits;
  const { connectingCount, openCount, youngCount, preferredMissing } = load;
  const total = Math.min(
    Math.floor(load.tokens),
    maxConnecting - connectingCount,
    maxConnections - openCount,
    MAX_YOUNG_DIALS - youngCount,
    MAX_DIALS_PER_STEP,
  );
  const ofOthers = (most: number): number => Math.floor(OTHERS_SHARE_OF_DIALS * most);
  const others =
    preferredMissing === undefined
      ? total
      : Math.min(
          total,
          ofOthers(maxConnecting) - connectingCount,
          ofOthers(MAX_YOUNG_DIALS) - youngCount,
          maxConnections - Math.floor(PREFERRED_HEADROOM * maxConnections) - preferredMissing - openCount,
        );
  return { total, others, unwanted: gossipSources - openCount };
}

/**
 * A node that failed counts as due so much later for each time, and nobody goes before it for ever: those that sign new addresses
 * all the time have never failed since, and fifty of them would take all dials.
 */
const FAILURE_MS = 5_000;
const MAX_COUNTED_FAILURES = 6;

/**
 * Which nodes to dial now: preferred ones first, then other wanted ones, of both first those that failed the fewest times or have
 * waited longest.
 */
export function planDials(candidates: Iterable<DialCandidate>, budget: DialBudget, nowMs: number): NodeID[] {
  if (budget.total <= 0) return [];
  // By rank: the best so far, the best first. Of thousands a few dozen may be dialled, so that sorting all would be in vain.
  const best = [budget.total, budget.others, budget.unwanted].map((max) => ({
    max,
    candidates: [] as DialCandidate[],
  }));
  for (const candidate of candidates) {
    const ofRank = best[rank(candidate)];
    if (candidate.nextDialAtMs <= nowMs && ofRank !== undefined) insert(candidate, ofRank.candidates, ofRank.max);
  }
  return best
    .flatMap((ofRank) => ofRank.candidates)
    .slice(0, budget.total)
    .map(({ nodeID }) => nodeID);
}

/** Of equal ones, those stay in front that came first. */
function insert(candidate: DialCandidate, best: DialCandidate[], max: number): void {
  if (max <= 0) return;
  const last = best.at(-1);
  if (best.length >= max && last !== undefined && !isBefore(candidate, last)) return;
  let place = best.length;
  while (place > 0 && isBefore(candidate, best[place - 1] as DialCandidate)) place -= 1;
  best.splice(place, 0, candidate);
  if (best.length > max) best.pop();
}

function isBefore(a: DialCandidate, b: DialCandidate): boolean {
  return waitingSinceMs(a) < waitingSinceMs(b);
}

function waitingSinceMs({ nextDialAtMs, failures }: DialCandidate): number {
  return nextDialAtMs + FAILURE_MS * Math.min(failures, MAX_COUNTED_FAILURES);
}

function rank({ wanted, preferred = false }: DialCandidate): 0 | 1 | 2 {
  if (!wanted) return 2;
  return preferred ? 0 : 1;
}

/** A connection that nobody wants any more. */
export interface UnwantedPeer {
  readonly nodeID: NodeID;
  /** Monotonic. */
  readonly unwantedSinceMs: number;
}

/** Which connections to close: those unwanted for longer than the grace. `keep` of them stay, to learn addresses from. */
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

export interface RedialLimits {
  /** The pause after the first failure, times [1, 2). */
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
}

/**
 * The pause before the next dial after a further failure, as the reference node's (avalanchego `network/tracked_ip.go`): it
 * grows by a random factor of [1, 2) each time, and is spread over the upper quarter once it reaches the maximum.
 *
 * Not `backoffMs`, which doubles: thousands of validators that fail at the same moment, as in an outage of ours, would be
 * dialled again in waves. A random factor each time spreads them further with each failure.
 *
 * @param previousMs the pause before, 0 after none
 */
export function nextRedialPauseMs(previousMs: number, limits: RedialLimits, random: Random): number {
  const grown = (previousMs > 0 ? previousMs : limits.initialBackoffMs) * (1 + random());
  return grown <= limits.maxBackoffMs ? grown : (limits.maxBackoffMs * (3 + random())) / 4;
}

export interface SearchIntervals {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * The pause between two searches for nodes that are missing: a tenth of the time since one went missing or was found. So a
 * validator that comes back at another address after a minute is found within some six seconds, while one that never comes
 * back costs next to nothing.
 */
export function searchIntervalMs(quietMs: number, intervals: SearchIntervals): number {
  return Math.min(Math.max(quietMs / 10, intervals.minMs), intervals.maxMs);
}

/** How many more sources than needed are drawn at random: enough to meet one of the few that know all subnets. */
const GOSSIP_SAMPLE = 8;

/**
 * Which peers to ask for addresses. Only validators of the primary network know the addresses of every subnet, so among
 * thousands of L1 validators most have nothing new. Of a random sample, those never asked come first, then those whose last
 * answer had the most new addresses.
 *
 * @param lastNewsOf how many new addresses a peer's last answer had; undefined where it was never asked
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

/** A few of many at random, each once. */
function drawSome<T>(items: readonly T[], count: number, random: Random): T[] {
  const drawn: T[] = [];
  /** Ascending. */
  const taken: number[] = [];
  while (drawn.length < count && drawn.length < items.length) {
    let index = Math.floor(random() * (items.length - taken.length));
    let place = 0;
    while (place < taken.length && (taken[place] as number) <= index) {
      index += 1;
      place += 1;
    }
    taken.splice(place, 0, index);
    drawn.push(items[index] as T);
  }
  return drawn;
}

/** Whether an endpoint may be dialled. Host names only where private addresses are allowed, since a name may lead to one. */
export function isPermitted({ host }: Endpoint, allowPrivateAddresses: boolean): boolean {
  return allowPrivateAddresses || isPublicAddress(host);
}
