import type { NodeID } from '../../warp/ids.ts';

export interface WantedChange {
  readonly added: readonly NodeID[];
  readonly removed: readonly NodeID[];
}

/** Nodes in at least one named set, without our own NodeID. */
export interface WantedNodes {
  readonly all: ReadonlySet<NodeID>;
  /** Nodes in at least one preferred set. */
  readonly preferred: ReadonlySet<NodeID>;
  set(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred?: boolean): WantedChange;
  delete(name: string): WantedChange;
}

/** @param ownNodeID may be a validator's, if the operator configured its certificate */
export function createWantedNodes(ownNodeID: NodeID): WantedNodes {
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
    get all() {
      return all;
    },
    get preferred() {
      return preferred;
    },
    set(name, nodeIDs, isPreferred = false) {
      sets.set(name, new Set(nodeIDs));
      if (isPreferred) preferredNames.add(name);
      else preferredNames.delete(name);
      return update();
    },
    delete(name) {
      preferredNames.delete(name);
      return sets.delete(name) ? update() : { added: [], removed: [] };
    },
  };
}
