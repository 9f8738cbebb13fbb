import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { PeerNetwork } from '../../p2p/peer-network.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';

export interface TrackedNodesOptions {
  readonly network: Pick<PeerNetwork, 'want' | 'unwant'>;
  readonly clock: Clock;
  /** Time that a validator stays connected after the last call that named it. */
  readonly keepMs: number;
  /** Whether a subnet is the operator's own: it is never evicted, and its validators are connected first. It may change. */
  readonly isPreferred: (subnetID: SubnetID) => boolean;
  /** Most other subnets, least recently used evicted first. */
  readonly maxSubnets: number;
}

interface TrackedNode {
  readonly firstMs: number;
  lastMs: number;
}

type Nodes = Map<NodeID, TrackedNode>;

/**
 * Nodes to be connected, by subnet. Nodes of requests are kept apart from the current validators of the operator's own subnets:
 * a client may ask for an old height, and the thousands of former validators must not take the connections of current ones.
 */
export class TrackedNodes {
  readonly #options: TrackedNodesOptions;
  /** Current validators of the operator's own subnets. */
  readonly #preferred = new Map<SubnetID, Nodes>();
  readonly #asked: LRUCache<SubnetID, Nodes>;

  constructor(options: TrackedNodesOptions) {
    this.#options = options;
    // Requests for untracked subnets cannot evict the operator's own.
    this.#asked = new LRUCache({
      max: options.maxSubnets,
      dispose: (_nodes, subnetID, reason) => {
        if (reason === 'evict') options.network.unwant(askedName(subnetID));
      },
    });
  }

  /** Names the current validators of one of the operator's own subnets. */
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

  /** Names nodes for a request. Returns when the last of them was first named. */
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

  /** A subnet that is no longer tracked is treated like any other. */
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

/** The operator's own subnets have two sets of wanted nodes. */
function askedName(subnetID: SubnetID): string {
  return `${subnetID} asked for`;
}
