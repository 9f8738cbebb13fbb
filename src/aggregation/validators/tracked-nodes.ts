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
export function createTrackedNodes({ network, clock, keepMs, isPreferred, maxSubnets }: TrackedNodesOptions) {
  /** Current validators of the operator's own subnets. */
  const preferred = new Map<SubnetID, Nodes>();
  // Requests for untracked subnets cannot evict the operator's own.
  const asked = new LRUCache<SubnetID, Nodes>({
    max: maxSubnets,
    dispose(_nodes, subnetID, reason) {
      if (reason === 'evict') network.unwant(askedName(subnetID));
    },
  });

  function wantPreferred(subnetID: SubnetID, nodes: Nodes): void {
    network.want(subnetID, new Set(nodes.keys()), true);
  }

  function wantAsked(subnetID: SubnetID, nodes: Nodes): void {
    if (nodes.size > 0) {
      asked.set(subnetID, nodes);
      network.want(askedName(subnetID), new Set(nodes.keys()));
    } else {
      asked.delete(subnetID);
      network.unwant(askedName(subnetID));
    }
  }

  /** A subnet that is no longer tracked is treated like any other. */
  function leave(subnetID: SubnetID, nodes: Nodes): void {
    preferred.delete(subnetID);
    wantAsked(subnetID, new Map([...(asked.peek(subnetID) ?? []), ...nodes]));
    network.unwant(subnetID);
  }

  function forgetIdle(nodes: Nodes, nowMs: number): boolean {
    let isChanged = false;
    for (const [nodeID, { lastMs }] of nodes) {
      if (nowMs - lastMs <= keepMs) continue;
      nodes.delete(nodeID);
      isChanged = true;
    }
    return isChanged;
  }

  return {
    /** Names the current validators of one of the operator's own subnets. */
    prefer(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): void {
      const nowMs = clock.monotonicMs();
      const before = asked.peek(subnetID);
      const nodes = preferred.get(subnetID) ?? new Map<NodeID, TrackedNode>();
      preferred.set(subnetID, nodes);
      let isChanged = false;
      for (const nodeID of nodeIDs) {
        const node = nodes.get(nodeID);
        if (node === undefined) {
          nodes.set(nodeID, { firstMs: before?.get(nodeID)?.firstMs ?? nowMs, lastMs: nowMs });
          isChanged = true;
        } else {
          node.lastMs = nowMs;
        }
      }
      if (forgetIdle(nodes, nowMs) || isChanged) wantPreferred(subnetID, nodes);
    },

    /** Names nodes for a request. Returns when the last of them was first named. */
    track(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): number {
      const nowMs = clock.monotonicMs();
      const current = preferred.get(subnetID);
      const nodes = asked.get(subnetID) ?? new Map<NodeID, TrackedNode>();
      let isChanged = false;
      let latestMs = 0;
      for (const nodeID of nodeIDs) {
        const node = current?.get(nodeID) ?? nodes.get(nodeID);
        if (node === undefined) {
          nodes.set(nodeID, { firstMs: nowMs, lastMs: nowMs });
          isChanged = true;
        } else if (!current?.has(nodeID)) {
          node.lastMs = nowMs;
        }
        latestMs = Math.max(latestMs, node?.firstMs ?? nowMs);
      }
      if (forgetIdle(nodes, nowMs) || isChanged) wantAsked(subnetID, nodes);
      return latestMs;
    },

    letGoOfIdle(): void {
      const nowMs = clock.monotonicMs();
      for (const [subnetID, nodes] of preferred) {
        if (!isPreferred(subnetID)) leave(subnetID, nodes);
        else if (forgetIdle(nodes, nowMs)) wantPreferred(subnetID, nodes);
      }
      for (const [subnetID, nodes] of Array.from(asked.entries())) {
        if (forgetIdle(nodes, nowMs)) wantAsked(subnetID, nodes);
      }
    },
  };
}

/** The operator's own subnets have two sets of wanted nodes. */
function askedName(subnetID: SubnetID): string {
  return `${subnetID} asked for`;
}
