import type { WarpSet } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';

interface Entry {
  readonly weight: bigint;
  /** Of the nodes with its key, those that are connected. */
  connectedNodes: number;
}

/**
 * How much weight of a set is connected. It is added up once, and then changed with each connection: while a large network is being
 * connected it is asked for after every one, and to go through 10,000 validators each time was half of what a connection cost.
 */
export class ConnectedWeight {
  readonly warpSet: WarpSet;
  readonly #isConnected: (nodeID: NodeID) => boolean;
  readonly #entries = new Map<NodeID, Entry>();
  readonly #connected = new Set<NodeID>();
  #weight = 0n;

  constructor(warpSet: WarpSet, isConnected: (nodeID: NodeID) => boolean) {
    this.warpSet = warpSet;
    this.#isConnected = isConnected;
    for (const { nodeIDs, weight } of warpSet.validators) {
      const entry: Entry = { weight, connectedNodes: 0 };
      for (const nodeID of nodeIDs) {
        this.#entries.set(nodeID, entry);
        this.look(nodeID);
      }
    }
  }

  get weight(): bigint {
    return this.#weight;
  }

  /** The node may have been connected, or its connection may have ended. */
  look(nodeID: NodeID): void {
    const entry = this.#entries.get(nodeID);
    if (entry === undefined) return;
    const isConnected = this.#isConnected(nodeID);
    if (isConnected === this.#connected.has(nodeID)) return;
    if (isConnected) {
      this.#connected.add(nodeID);
      entry.connectedNodes += 1;
      if (entry.connectedNodes === 1) this.#weight += entry.weight;
    } else {
      this.#connected.delete(nodeID);
      entry.connectedNodes -= 1;
      if (entry.connectedNodes === 0) this.#weight -= entry.weight;
    }
  }
}
