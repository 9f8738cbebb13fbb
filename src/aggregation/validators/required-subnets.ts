import { type Clock, repeat } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../lib/concurrency/deadline.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { Obstacle } from '../../p2p/peer-view.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { ThrottledWarnings } from '../../telemetry/log-throttle.ts';
import { isQuorumReached } from '../../validators/quorum.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { ConnectedWeight, ratio } from './connected-weight.ts';
import { type MissingWeight, sumMissingWeight } from './missing-weight.ts';

export interface SubnetReadiness {
  readonly subnetID: SubnetID;
  readonly isUp: boolean;
  /** Why it is not up, or why its set cannot be refreshed, for operators. */
  readonly reason: string | undefined;
  /** Set if the validator set could never be read because the P-Chain API fails. */
  readonly isApiDown?: boolean;
  readonly connected: { readonly weight: bigint; readonly totalWeight: bigint } | undefined;
  /** Returns why weight is not connected, the heaviest cause first; present if too little weight is connected. */
  readonly missing?: () => readonly MissingWeight[];
}

export interface RequiredSubnetOptions {
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly clock: Clock;
  readonly warn: ThrottledWarnings;
  readonly isConnected: (nodeID: NodeID) => boolean;
  readonly obstacle: (nodeID: NodeID) => Obstacle | undefined;
  readonly keepConnected: (subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>) => void;
  readonly onRead: () => void;
  /** Percent of the weight that must be connected. */
  readonly readyQuorumNum: bigint;
  readonly refreshIntervalMs: number;
  readonly refreshTimeoutMs: number;
}

/** Delay between readings while there is no set with validators. */
const FIRST_RETRY_MS = 1_000;
const MISSING_MAX_AGE_MS = 1_000;

/** A subnet whose validators are kept connected from the start, and whose set is read regularly. */
function openRequiredSubnet(subnetID: SubnetID, options: RequiredSubnetOptions) {
  const { validatorSets, clock, warn, isConnected, keepConnected, onRead } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let connected: ConnectedWeight | undefined;
  let failure: string | undefined;
  let missing: { readonly atMs: number; readonly weights: readonly MissingWeight[] } | undefined;
  const working = repeat(clock, signal, async () => {
    await refresh();
    // A subnet that is about to be converted is read again soon.
    const hasValidators = connected !== undefined && connected.warpSet.totalWeight > 0n;
    return hasValidators ? options.refreshIntervalMs : FIRST_RETRY_MS;
  });

  async function refresh(): Promise<void> {
    using deadline = startDeadline(clock, options.refreshTimeoutMs, 'reading the validator set', signal);
    try {
      const { set: warpSet } = await validatorSets.atProposed(subnetID, deadline.signal);
      if (warpSet !== connected?.warpSet) connected = new ConnectedWeight(warpSet, isConnected);
      failure = undefined;
    } catch (error) {
      if (signal.aborted) return;
      failure = describeFailure(error);
      warn(subnetID, { err: error, subnetId: subnetID }, 'could not read the validator set of a subnet; trying again');
    }
    // The last known validators stay connected while the set cannot be read.
    if (connected !== undefined) {
      keepConnected(subnetID, new Set(connected.warpSet.validators.flatMap(({ nodeIDs }) => nodeIDs)));
    }
    onRead();
  }

  /** Computed at most once a second: probes read it, and a set may have 10,000 validators. */
  function missingWeight(warpSet: WarpSet): readonly MissingWeight[] {
    const nowMs = clock.monotonicMs();
    if (missing === undefined || nowMs - missing.atMs >= MISSING_MAX_AGE_MS) {
      missing = { atMs: nowMs, weights: sumMissingWeight(warpSet, options.obstacle) };
    }
    return missing.weights;
  }

  return {
    readiness(): SubnetReadiness {
      if (connected === undefined) {
        const none = { subnetID, isUp: false, connected: undefined };
        if (failure === undefined) return { ...none, reason: 'its validator set is being read' };
        return { ...none, reason: `its validator set cannot be read: ${failure}`, isApiDown: true };
      }
      const { warpSet, weight } = connected;
      const readiness = readinessOf(subnetID, { weight, totalWeight: warpSet.totalWeight }, options);
      // The last known validators stay connected, but a request that needs a new height or set fails.
      const staleness = failure && `its validator set cannot be read anew: ${failure}`;
      return readiness.isUp
        ? { ...readiness, reason: staleness }
        : { ...readiness, missing: () => missingWeight(warpSet) };
    },
    connectionChanged: (nodeID: NodeID): void => connected?.look(nodeID),
    async stop(reason: string): Promise<void> {
      stopping.abort(new Error(reason));
      await working;
    },
  };
}

export type RequiredSubnets = ReturnType<typeof createRequiredSubnets>;

/** Subnets whose validators are kept connected: the primary network first, then the tracked subnets. */
export function createRequiredSubnets(options: RequiredSubnetOptions) {
  const kept = new Map<SubnetID, ReturnType<typeof openRequiredSubnet>>();
  const ending = new Set<Promise<void>>();
  return {
    has: (subnetID: SubnetID): boolean => kept.has(subnetID),
    readiness: (): readonly SubnetReadiness[] => Array.from(kept.values(), (subnet) => subnet.readiness()),
    connectionChanged(nodeID: NodeID): void {
      for (const subnet of kept.values()) subnet.connectionChanged(nodeID);
    },
    /** Subnets that stay keep their state. */
    set(trackedIDs: readonly SubnetID[]): void {
      const wanted = new Set([PRIMARY_NETWORK_ID, ...trackedIDs]);
      for (const [subnetID, subnet] of kept) {
        if (wanted.has(subnetID)) continue;
        kept.delete(subnetID);
        const end = subnet.stop('the subnet is not tracked any more').finally(() => ending.delete(end));
        ending.add(end);
      }
      for (const subnetID of wanted) {
        if (!kept.has(subnetID)) kept.set(subnetID, openRequiredSubnet(subnetID, options));
      }
    },
    async stop(): Promise<void> {
      await Promise.all([...ending, ...Array.from(kept.values(), (subnet) => subnet.stop('the service stops'))]);
    },
  };
}

export function readinessOf(
  subnetID: SubnetID,
  connected: NonNullable<SubnetReadiness['connected']>,
  { readyQuorumNum }: Pick<RequiredSubnetOptions, 'readyQuorumNum'>,
): SubnetReadiness {
  const { weight, totalWeight } = connected;
  // A mistake in the configuration, or an L1 that is not converted yet.
  if (totalWeight === 0n) return { subnetID, isUp: false, reason: 'it has no validators', connected };
  if (isQuorumReached(readyQuorumNum, weight, totalWeight))
    return { subnetID, isUp: true, reason: undefined, connected };
  const percent = (100 * ratio(weight, totalWeight)).toFixed(2);
  const reason = `${percent} % of its weight is connected, and ${readyQuorumNum} % is needed`;
  return { subnetID, isUp: false, reason, connected };
}

/** Unexpected errors are only logged in full. */
function describeFailure(error: unknown): string {
  const isExpected = error instanceof ApiError || error instanceof DeadlineExceeded || error instanceof ParseError;
  return isExpected ? error.message : 'an unexpected error, which is in the log';
}
