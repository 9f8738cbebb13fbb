import type { NodeID } from '../../warp/ids.ts';

export interface WantedChange {
  readonly added: readonly NodeID[];
  readonly removed: readonly NodeID[];
}

/** Nodes in at least one named set, without our own NodeID. */
export class WantedNodes {
  /** May be a validator's, where the operator configured its certificate. */
  readonly #ownNodeID: NodeID;
  readonly #sets = new Map<string, ReadonlySet<NodeID>>();
  readonly #preferredNames = new Set<string>();
  #all: Set<NodeID> = new Set();
  #preferred: ReadonlySet<NodeID> = new Set();

  constructor(ownNodeID: NodeID) {
    this.#ownNodeID = ownNodeID;
  }

  get all(): ReadonlySet<NodeID> {
    return this.#all;
  }

  /** Nodes in at least one preferred set. */
  get preferred(): ReadonlySet<NodeID> {
    return this.#preferred;
  }

  set(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred = false): WantedChange {
    this.#sets.set(name, new Set(nodeIDs));
    if (isPreferred) this.#preferredNames.add(name);
    else this.#preferredNames.delete(name);
    return this.#update();
  }

  delete(name: string): WantedChange {
    this.#preferredNames.delete(name);
    return this.#sets.delete(name) ? this.#update() : { added: [], removed: [] };
  }

  #update(): WantedChange {
    const before = this.#all;
    const after = new Set<NodeID>();
    const preferred = new Set<NodeID>();
    for (const [name, nodeIDs] of this.#sets) {
      for (const nodeID of nodeIDs) after.add(nodeID);
      if (this.#preferredNames.has(name)) for (const nodeID of nodeIDs) preferred.add(nodeID);
    }
    after.delete(this.#ownNodeID);
    preferred.delete(this.#ownNodeID);
    this.#all = after;
    this.#preferred = preferred;
    return { added: [...after.difference(before)], removed: [...before.difference(after)] };
  }
}
