import { hash } from 'node:crypto';
import { type BlockchainID, idBytes, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../src/warp/ids.ts';

/** A validator of a subnet, as the P-Chain has it. */
export interface LedgerEntry {
  /** Number of its identity. */
  readonly number: number;
  /** Number of its BLS key; undefined without a key. */
  readonly key: number | undefined;
  readonly weight: bigint;
  /** nAVAX of an L1 validator, which are seconds at a price of 1 nAVAX a second. */
  readonly balance?: bigint;
}

export type LedgerSet = readonly LedgerEntry[];

export interface LedgerBlock {
  readonly height: bigint;
  /** When it was accepted; negative before the service started. */
  readonly atMs: number;
  readonly sets: ReadonlyMap<SubnetID, LedgerSet>;
}

export interface LedgerPlan {
  readonly chains: ReadonlyMap<BlockchainID, SubnetID>;
  /** In ascending order of height and time; the first one is there from the start. */
  readonly blocks: readonly LedgerBlock[];
  /** The number of blocks that epochs are behind, for chains with epochs. */
  readonly epochLag: ReadonlyMap<BlockchainID, bigint>;
}

interface RequestedSigners {
  readonly signingSubnetID: SubnetID | undefined;
  readonly destinationChainID: BlockchainID | undefined;
}

interface SourceOfMessage {
  readonly message: { readonly sourceChainID: BlockchainID };
  readonly subnetID: SubnetID | undefined;
}

/** What is true: the P-Chain as it really is. The API shows it, and the judge of the results looks here. */
export class Ledger {
  readonly plan: LedgerPlan;
  readonly #nowMs: () => number;

  constructor(plan: LedgerPlan, nowMs: () => number) {
    this.plan = plan;
    this.#nowMs = nowMs;
  }

  /** Whether the chain's Warp configuration requires signers of the primary network. */
  requiresPrimarySigners(chainID: BlockchainID): boolean {
    return (idBytes(chainID)[0] ?? 0) % 2 === 1;
  }

  /** The subnet that signs a message for a request; undefined for a chain that does not exist. */
  signerOf(request: RequestedSigners, { message: { sourceChainID }, subnetID }: SourceOfMessage): SubnetID | undefined {
    const { signingSubnetID, destinationChainID } = request;
    if (signingSubnetID !== undefined) return signingSubnetID;
    const destination = destinationChainID && this.plan.chains.get(destinationChainID);
    if (destination === undefined || destinationChainID === undefined || subnetID !== PRIMARY_NETWORK_ID)
      return subnetID;
    const isPrimary = sourceChainID !== P_CHAIN_ID && this.requiresPrimarySigners(destinationChainID);
    return isPrimary ? PRIMARY_NETWORK_ID : destination;
  }

  /** The newest block; `agoMs` before now. */
  tip(agoMs = 0): LedgerBlock {
    const { blocks } = this.plan;
    const atMs = this.#nowMs() - agoMs;
    return blocks.findLast((block) => block.atMs <= atMs) ?? (blocks[0] as LedgerBlock);
  }

  get floor(): bigint {
    return (this.plan.blocks[0] as LedgerBlock).height;
  }

  /** The set at a height; undefined below the first block, and above the newest that there will ever be. */
  setAt(subnetID: SubnetID, height: bigint): LedgerSet | undefined {
    if (height < this.floor) return undefined;
    return this.plan.blocks.findLast((block) => block.height <= height)?.sets.get(subnetID) ?? [];
  }

  /** All sets that a subnet has at some time. */
  setsOf(subnetID: SubnetID): readonly LedgerSet[] {
    return [...new Set(this.plan.blocks.map(({ sets }) => sets.get(subnetID) ?? []))];
  }

  /** The key that a node signs with now: that of the newest set with it. One that has left its subnet keeps its key. */
  keyOf(number: number): number {
    const { height: tip } = this.tip();
    for (const { height, sets } of this.plan.blocks.toReversed()) {
      if (height > tip) continue;
      for (const set of sets.values()) {
        const entry = set.find((one) => one.number === number);
        if (entry?.key !== undefined) return entry.key;
      }
    }
    return number;
  }
}

/** Returns the ID of a block without content. */
export function blockIDBytes(height: bigint): Uint8Array {
  return new Uint8Array(hash('sha256', `simulated block ${height}`, 'buffer'));
}
