import type { WarpSet } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';

/** Four digits, which a number holds for any weight. */
export function ratio(part: bigint, total: bigint): number {
  return Number((part * 10_000n) / total) / 10_000;
}

interface Entry {
  readonly weight: bigint;
  /** Connected nodes of each validator. */
  connectedNodes: number;
}

/** Updated with each connection: adding up 10,000 validators again was half of the cost of a connection. */
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
