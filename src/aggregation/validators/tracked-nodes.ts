import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { PeerNetwork } from '../../p2p/peer-network.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';

export interface TrackedNodesOptions {
  readonly network: Pick<PeerNetwork, 'want' | 'unwant'>;
  readonly clock: Clock;
  /** How long a validator stays connected after it was last named. */
  readonly keepMs: number;
  /** Whether a subnet is never let go of, and the validators that it has now are connected before all others. It may change. */
  readonly isPreferred: (subnetID: SubnetID) => boolean;
  /** Most subnets beside them; the one named least recently goes first. */
  readonly maxSubnets: number;
}

interface TrackedNode {
  readonly firstMs: number;
  lastMs: number;
}

type Nodes = Map<NodeID, TrackedNode>;

/**
 * The nodes of each subnet that are to be connected: those that were named not long ago. Whom requests name is kept apart from whom the
 * operator's own subnets have now: anybody may ask for a height of years ago, and the thousands who were validators then must not have
 * the connections that are kept for those who are.
 */
export class TrackedNodes {
  readonly #options: TrackedNodesOptions;
  /** Of preferred subnets, whom the readings of their sets have named. */
  readonly #preferred = new Map<SubnetID, Nodes>();
  /** Whom requests have named, but for those above. */
  readonly #asked: LRUCache<SubnetID, Nodes>;

  constructor(options: TrackedNodesOptions) {
    this.#options = options;
    // A flood of strangers' subnets must not push the operator's own out, which are not in here.
    this.#asked = new LRUCache({
      max: options.maxSubnets,
      dispose: (_nodes, subnetID, reason) => {
        if (reason === 'evict') options.network.unwant(askedName(subnetID));
      },
    });
  }

  /** The validators that a preferred subnet has now. */
  prefer(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): void {
    const nowMs = this.#options.clock.monotonicMs();
    const asked = this.#asked.peek(subnetID);
    const nodes = this.#preferred.get(subnetID) ?? new Map<NodeID, TrackedNode>();
    this.#preferred.set(subnetID, nodes);
    let isChanged = false;
    for (const nodeID of nodeIDs) {
      const node = nodes.get(nodeID);
      if (node === undefined) {
        nodes.set(nodeID, { firstMs: asked?.get(nodeID)?.firstMs ?? nowMs, lastMs: nowMs });
        isChanged = true;
      } else {
        node.lastMs = nowMs;
      }
    }
    if (this.#forgetIdle(nodes, nowMs) || isChanged) this.#wantPreferred(subnetID, nodes);
  }

  /**
   * Whom a request names.
   *
   * @returns when the last of these nodes was first named
   */
  track(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): number {
    const nowMs = this.#options.clock.monotonicMs();
    const preferred = this.#preferred.get(subnetID);
    const nodes = this.#asked.get(subnetID) ?? new Map<NodeID, TrackedNode>();
    let isChanged = false;
    let latestMs = 0;
    for (const nodeID of nodeIDs) {
      const node = preferred?.get(nodeID) ?? nodes.get(nodeID);
      if (node === undefined) {
        nodes.set(nodeID, { firstMs: nowMs, lastMs: nowMs });
        isChanged = true;
      } else if (!preferred?.has(nodeID)) {
        node.lastMs = nowMs;
      }
      latestMs = Math.max(latestMs, node?.firstMs ?? nowMs);
    }
    if (this.#forgetIdle(nodes, nowMs) || isChanged) this.#wantAsked(subnetID, nodes);
    return latestMs;
  }

  /** Also for subnets that nobody names any more: called from time to time. */
  letGoOfIdle(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [subnetID, nodes] of this.#preferred) {
      if (!this.#options.isPreferred(subnetID)) this.#leave(subnetID, nodes);
      else if (this.#forgetIdle(nodes, nowMs)) this.#wantPreferred(subnetID, nodes);
    }
    for (const [subnetID, nodes] of [...this.#asked.entries()]) {
      if (this.#forgetIdle(nodes, nowMs)) this.#wantAsked(subnetID, nodes);
    }
  }

  /** The operator does not track it any more: its validators are as those of any subnet that was asked for. */
  #leave(subnetID: SubnetID, nodes: Nodes): void {
    this.#preferred.delete(subnetID);
    this.#wantAsked(subnetID, new Map([...(this.#asked.peek(subnetID) ?? []), ...nodes]));
    this.#options.network.unwant(subnetID);
  }

  #wantPreferred(subnetID: SubnetID, nodes: Nodes): void {
    this.#options.network.want(subnetID, new Set(nodes.keys()), true);
  }

  #wantAsked(subnetID: SubnetID, nodes: Nodes): void {
    const { network } = this.#options;
    if (nodes.size > 0) {
      this.#asked.set(subnetID, nodes);
      network.want(askedName(subnetID), new Set(nodes.keys()));
    } else {
      this.#asked.delete(subnetID);
      network.unwant(askedName(subnetID));
    }
  }

  #forgetIdle(nodes: Nodes, nowMs: number): boolean {
    let isChanged = false;
    for (const [nodeID, { lastMs }] of nodes) {
      if (nowMs - lastMs <= this.#options.keepMs) continue;
      nodes.delete(nodeID);
      isChanged = true;
    }
    return isChanged;
  }
}

/** Of a preferred subnet, there are two sets of wanted nodes. */
function askedName(subnetID: SubnetID): string {
  return `${subnetID} asked for`;
}
