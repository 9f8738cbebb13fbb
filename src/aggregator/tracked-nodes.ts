import { LRUCache } from 'lru-cache';
import type { PeerNetwork } from '../p2p/peer-network.ts';
import type { Clock } from '../primitives/clock.ts';
import type { NodeID, SubnetID } from '../primitives/ids.ts';

export interface TrackedNodesOptions {
  readonly network: Pick<PeerNetwork, 'want' | 'unwant'>;
  readonly clock: Clock;
  /** How long a validator stays connected after it was last named. */
  readonly keepMs: number;
  /** Whether a subnet is never let go of, and its validators are connected before those of others. It may change. */
  readonly isPreferred: (subnetID: SubnetID) => boolean;
  /** Most subnets beside them; the one named least recently goes first. */
  readonly maxSubnets: number;
}

interface TrackedNode {
  readonly firstMs: number;
  lastMs: number;
}

/** The nodes of each subnet that are to be connected: those that were named not long ago. */
export class TrackedNodes {
  readonly #options: TrackedNodesOptions;
  readonly #preferred = new Map<SubnetID, Map<NodeID, TrackedNode>>();
  readonly #others: LRUCache<SubnetID, Map<NodeID, TrackedNode>>;

  constructor(options: TrackedNodesOptions) {
    this.#options = options;
    this.#others = new LRUCache({
      max: options.maxSubnets,
      dispose: (_nodes, subnetID, reason) => {
        if (reason === 'evict') options.network.unwant(subnetID);
      },
    });
  }

  /** @returns when the last of these nodes was first named */
  track(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): number {
    const nowMs = this.#options.clock.monotonicMs();
    // A flood of strangers' subnets must not push the operator's own out.
    const [subnets, before] = this.#options.isPreferred(subnetID)
      ? [this.#preferred, this.#others]
      : [this.#others, this.#preferred];
    const nodes = before.get(subnetID) ?? subnets.get(subnetID) ?? new Map<NodeID, TrackedNode>();
    subnets.set(subnetID, nodes);
    let isChanged = before.delete(subnetID);
    let latestMs = 0;
    for (const nodeID of nodeIDs) {
      const node = nodes.get(nodeID);
      if (node === undefined) {
        nodes.set(nodeID, { firstMs: nowMs, lastMs: nowMs });
        isChanged = true;
      } else {
        node.lastMs = nowMs;
      }
      latestMs = Math.max(latestMs, node?.firstMs ?? nowMs);
    }
    if (this.#forgetIdle(nodes, nowMs) || isChanged) this.#want(subnetID, nodes);
    return latestMs;
  }

  /** Also for subnets that nobody names any more: called from time to time. */
  letGoOfIdle(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [subnetID, nodes] of [...this.#others.entries(), ...this.#preferred]) {
      if (!this.#forgetIdle(nodes, nowMs)) continue;
      if (nodes.size > 0 || this.#options.isPreferred(subnetID)) {
        this.#want(subnetID, nodes);
        continue;
      }
      this.#others.delete(subnetID);
      this.#preferred.delete(subnetID);
      this.#options.network.unwant(subnetID);
    }
  }

  #want(subnetID: SubnetID, nodes: ReadonlyMap<NodeID, TrackedNode>): void {
    this.#options.network.want(subnetID, new Set(nodes.keys()), this.#options.isPreferred(subnetID));
  }

  #forgetIdle(nodes: Map<NodeID, TrackedNode>, nowMs: number): boolean {
    let isChanged = false;
    for (const [nodeID, { lastMs }] of nodes) {
      if (nowMs - lastMs <= this.#options.keepMs) continue;
      nodes.delete(nodeID);
      isChanged = true;
    }
    return isChanged;
  }
}
