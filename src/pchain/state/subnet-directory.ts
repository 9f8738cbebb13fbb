import { LRUCache } from 'lru-cache';
import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID, type TxID } from '../../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { parseSubnetOfCreatedChain } from '../codec/l1-transaction.ts';
import { isNotServed, unlessRefused } from '../rpc/api-error.ts';
import type { NodeApi, Subnet } from '../rpc/node-api.ts';

/**
 * Cache of subnets and blockchains. Permanent facts are kept: the subnet of a blockchain, the existence of a subnet, and the conversion to
 * an L1. A negative cache keeps unknown IDs for some seconds, separately, because clients can invent IDs. Equal calls in flight are shared.
 *
 * All methods reject with {@link ApiError}, or with the signal's reason.
 */
export interface SubnetDirectory {
  /** Returns the subnet of a blockchain if it is cached. */
  knownSubnetOf(chainID: BlockchainID): SubnetID | undefined;
  /** Whether a subnet is known to exist, without a lookup. */
  isKnown(subnetID: SubnetID): boolean;
  /** Returns undefined for an unknown subnet. */
  getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined>;
  /** Returns the subnet that validates a blockchain; undefined for an unknown blockchain. */
  validatedBy(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined>;
  /**
   * Distinguishes an unknown subnet from one without validators: both have an empty validator set. Returns true where no API serves the
   * method, because the existence is only confirmed.
   */
  exists(subnetID: SubnetID, signal: AbortSignal): Promise<boolean>;
}

/** Subnets, and as many blockchains, some 4 MB in all. Mainnet has a few hundred. */
const MAX_KEPT = 10_000;

/** Unknown subnets, and as many blockchains, under 2 MB in all. */
const MAX_MISSING = 10_000;
/** Delay until a new chain is found. */
const MISSING_MS = 3_000;
/** The list of all blockchains has a few hundred KiB. */
const BLOCKCHAINS_KEPT_MS = 60_000;

/** The node returns an error for the primary network. */
const PRIMARY_NETWORK: Subnet = { conversionID: undefined, managerChainID: undefined };

export interface SubnetDirectoryOptions {
  readonly api: Pick<NodeApi, 'validatedBy' | 'getSubnet' | 'getTx' | 'getBlockchains'>;
  readonly networkID: number;
  readonly clock: Clock;
}

export function createSubnetDirectory({ api, networkID, clock }: SubnetDirectoryOptions): SubnetDirectory {
  const chainsOfPrimary = primaryChainsOf(networkID);
  const existing = new LRUCache<SubnetID, true>({ max: MAX_KEPT });
  const missingChains = createMissing(clock);
  const missingSubnets = createMissing(clock);
  const subnetOfChain = new FreshCache<BlockchainID, SubnetID | undefined>({
    clock,
    max: MAX_KEPT,
    maxAgeMs: (subnetID) => (subnetID === undefined ? NOT_KEPT : FOR_EVER),
    async load(chainID, signal) {
      const subnetID = await findSubnetOf(chainID, signal);
      if (subnetID === undefined) missingChains.add(chainID);
      else existing.set(subnetID, true);
      return subnetID;
    },
  });
  const subnets = new FreshCache<SubnetID, Subnet | undefined>({
    clock,
    max: MAX_KEPT,
    maxAgeMs: (subnet) => (subnet?.conversionID === undefined ? NOT_KEPT : FOR_EVER),
    async load(subnetID, signal) {
      const subnet = await unlessRefused(api.getSubnet(subnetID, signal));
      if (subnet === undefined) missingSubnets.add(subnetID);
      else existing.set(subnetID, true);
      return subnet;
    },
  });

  /** Complete lists, for APIs that serve neither `validatedBy` nor `getTx`. */
  const blockchains = new FreshCache<'all', ReadonlyMap<BlockchainID, SubnetID>>({
    clock,
    max: 1,
    maxAgeMs: BLOCKCHAINS_KEPT_MS,
    load: async (_, signal) =>
      new Map((await api.getBlockchains(signal)).map(({ blockchainID, subnetID }) => [blockchainID, subnetID])),
  });

  /** Returns undefined for an unknown blockchain. */
  async function findSubnetOf(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined> {
    try {
      return await unlessRefused(api.validatedBy(chainID, signal));
    } catch (error) {
      if (!isNotServed(error)) throw error;
    }
    return (await subnetOfCreation(chainID, signal)) ?? (await blockchains.get('all', signal)).get(chainID);
  }

  /** Reads the transaction that created a blockchain, which has the same ID. Returns undefined if it cannot be read. */
  async function subnetOfCreation(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined> {
    try {
      const bytes = await unlessRefused(api.getTx(chainID as string as TxID, signal));
      return bytes && parseSubnetOfCreatedChain(bytes);
    } catch (error) {
      // The method is refused, or the transaction is longer than those with messages, as of a genesis.
      if (isNotServed(error) || error instanceof ParseError) return undefined;
      throw error;
    }
  }

  /** Returns the subnet of a blockchain if it is cached. */
  function knownSubnetOf(chainID: BlockchainID): SubnetID | undefined {
    return chainsOfPrimary.has(chainID) ? PRIMARY_NETWORK_ID : subnetOfChain.peek(chainID);
  }

  /** Whether the existence of a subnet is cached. */
  function isKnown(subnetID: SubnetID): boolean {
    return subnetID === PRIMARY_NETWORK_ID || existing.get(subnetID) === true;
  }

  /** Returns undefined for an unknown subnet. */
  async function getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined> {
    signal.throwIfAborted();
    if (subnetID === PRIMARY_NETWORK_ID) return PRIMARY_NETWORK;
    return missingSubnets.has(subnetID) && !isKnown(subnetID) ? undefined : subnets.get(subnetID, signal);
  }

  return {
    knownSubnetOf,
    isKnown,
    getSubnet,
    async validatedBy(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined> {
      signal.throwIfAborted();
      if (missingChains.has(chainID)) return undefined;
      return knownSubnetOf(chainID) ?? subnetOfChain.get(chainID, signal);
    },
    async exists(subnetID: SubnetID, signal: AbortSignal): Promise<boolean> {
      if (isKnown(subnetID)) return true;
      try {
        return (await getSubnet(subnetID, signal)) !== undefined;
      } catch (error) {
        if (isNotServed(error)) return true;
        throw error;
      }
    },
  };
}

/** The C- and the X-Chain of a public network never change; those of other networks are looked up. */
function primaryChainsOf(networkID: number): ReadonlySet<BlockchainID> {
  const network = PUBLIC_NETWORKS.find((known) => known.networkID === networkID);
  return new Set(network === undefined ? [P_CHAIN_ID] : [P_CHAIN_ID, network.xChainID, network.cChainID]);
}

function createMissing(clock: Clock) {
  const untilMs = new LRUCache<string, number>({ max: MAX_MISSING });
  return {
    has: (id: string): boolean => clock.monotonicMs() < (untilMs.get(id) ?? Number.NEGATIVE_INFINITY),
    add: (id: string): void => void untilMs.set(id, clock.monotonicMs() + MISSING_MS),
  };
}

const NOT_KEPT = 0;
const FOR_EVER = Number.POSITIVE_INFINITY;
