import type { NodeID } from '../../warp/ids.ts';

export interface WantedChange {
  readonly added: readonly NodeID[];
  readonly removed: readonly NodeID[];
}

/**
 * Nodes in at least one named set, without our own NodeID.
 *
 * @param ownNodeID may be a validator's, if the operator configured its certificate
 */
export function createWantedNodes(ownNodeID: NodeID) {
  const sets = new Map<string, ReadonlySet<NodeID>>();
  const preferredNames = new Set<string>();
  let all: ReadonlySet<NodeID> = new Set();
  let preferred: ReadonlySet<NodeID> = new Set();

  function unionOf(names: Iterable<string>): ReadonlySet<NodeID> {
    const union = new Set<NodeID>();
    for (const name of names) for (const nodeID of sets.get(name) ?? []) union.add(nodeID);
    union.delete(ownNodeID);
    return union;
  }

  function update(): WantedChange {
    const before = all;
    all = unionOf(sets.keys());
    preferred = unionOf(preferredNames);
    return { added: [...all.difference(before)], removed: [...before.difference(all)] };
  }

  return {
    get all(): ReadonlySet<NodeID> {
      return all;
    },
    /** Nodes in at least one preferred set. */
    get preferred(): ReadonlySet<NodeID> {
      return preferred;
    },
    set(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred = false): WantedChange {
      sets.set(name, new Set(nodeIDs));
      if (isPreferred) preferredNames.add(name);
      else preferredNames.delete(name);
      return update();
    },
    delete(name: string): WantedChange {
      preferredNames.delete(name);
      return sets.delete(name) ? update() : { added: [], removed: [] };
    },
  };
}
