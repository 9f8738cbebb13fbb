import { LRUCache } from 'lru-cache';
import type { PeerNetwork } from '../p2p/peer-network.ts';
import type { Clock } from '../primitives/clock.ts';
import type { NodeID, SubnetID } from '../primitives/ids.ts';

export interface TrackedNodesOptions {
  readonly network: Pick<PeerNetwork, 'want' | 'unwant'>;
  readonly clock: Clock;
  /** How long a validator stays connected after it was last named. */
  readonly keepMs: number;
  /** Most subnets; the one named least recently goes first. */
  readonly maxSubnets: number;
}

interface TrackedNode {
  readonly firstMs: number;
  lastMs: number;
}

/** The nodes of each subnet that are to be connected: those that were named not long ago. */
export class TrackedNodes {
  readonly #options: TrackedNodesOptions;
  readonly #subnets: LRUCache<SubnetID, Map<NodeID, TrackedNode>>;

  constructor(options: TrackedNodesOptions) {
    this.#options = options;
    this.#subnets = new LRUCache({
      max: options.maxSubnets,
      dispose: (_nodes, subnetID, reason) => {
        if (reason !== 'set') options.network.unwant(subnetID);
      },
    });
  }

  /** @returns when the last of these nodes was first named */
  track(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): number {
    const nowMs = this.#options.clock.monotonicMs();
    let nodes = this.#subnets.get(subnetID);
    if (nodes === undefined) this.#subnets.set(subnetID, (nodes = new Map()));
    let isChanged = false;
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
    if (this.#forgetIdle(nodes, nowMs) || isChanged) this.#options.network.want(subnetID, new Set(nodes.keys()));
    return latestMs;
  }

  /** Also for subnets that nobody names any more: called from time to time. */
  letGoOfIdle(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [subnetID, nodes] of [...this.#subnets.entries()]) {
      if (!this.#forgetIdle(nodes, nowMs)) continue;
      if (nodes.size === 0) this.#subnets.delete(subnetID);
      else this.#options.network.want(subnetID, new Set(nodes.keys()));
    }
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
