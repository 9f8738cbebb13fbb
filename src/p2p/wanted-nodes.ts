import type { NodeID } from '../primitives/ids.ts';

export interface WantedChange {
  readonly added: readonly NodeID[];
  readonly removed: readonly NodeID[];
}

/** The nodes that connections are wanted to: all that are in at least one named set, but never ourselves. */
export class WantedNodes {
  /** Our own NodeID may be a validator's, where the operator gave us its certificate. */
  readonly #ownNodeID: NodeID;
  readonly #sets = new Map<string, ReadonlySet<NodeID>>();
  #all: ReadonlySet<NodeID> = new Set();

  constructor(ownNodeID: NodeID) {
    this.#ownNodeID = ownNodeID;
  }

  get all(): ReadonlySet<NodeID> {
    return this.#all;
  }

  /** Replaces the set of that name. */
  set(name: string, nodeIDs: ReadonlySet<NodeID>): WantedChange {
    this.#sets.set(name, new Set(nodeIDs));
    return this.#update();
  }

  delete(name: string): WantedChange {
    return this.#sets.delete(name) ? this.#update() : { added: [], removed: [] };
  }

  #update(): WantedChange {
    const before = this.#all;
    const after = new Set<NodeID>();
    for (const nodeIDs of this.#sets.values()) for (const nodeID of nodeIDs) after.add(nodeID);
    after.delete(this.#ownNodeID);
    this.#all = after;
    return {
      added: [...after].filter((nodeID) => !before.has(nodeID)),
      removed: [...before].filter((nodeID) => !after.has(nodeID)),
    };
  }
}
