import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import { createLru } from '../../lib/cache/lru.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { unlessRefused } from '../rpc/api-error.ts';
import type { NodeApi, Subnet } from '../rpc/node-api.ts';

/**
 * Cache of subnets and blockchains. Permanent facts are kept: the subnet of a blockchain, the existence of a subnet, and the conversion to
 * an L1. A negative cache keeps unknown IDs for some seconds, separately, because clients can invent IDs. Equal calls in flight are shared.
 *
 * All methods reject with {@link ApiError}, or with the signal's reason.
 */
export type SubnetDirectory = ReturnType<typeof createSubnetDirectory>;

/** Subnets, and as many blockchains, some 4 MB in all. Mainnet has a few hundred. */
const MAX_KEPT = 10_000;

/** Unknown subnets, and as many blockchains, under 2 MB in all. */
const MAX_MISSING = 10_000;
/** Delay until a new chain is found. */
const MISSING_MS = 3_000;

/** The node returns an error for the primary network. */
const PRIMARY_NETWORK: Subnet = { conversionID: undefined, managerChainID: undefined };

export function createSubnetDirectory(api: Pick<NodeApi, 'validatedBy' | 'getSubnet'>, clock: Clock) {
  const existing = createLru<SubnetID, true>(MAX_KEPT);
  const missingChains = createMissing(clock);
  const missingSubnets = createMissing(clock);
  const subnetOfChain = new FreshCache<BlockchainID, SubnetID | undefined>({
    clock,
    max: MAX_KEPT,
    maxAgeMs: (subnetID) => (subnetID === undefined ? NOT_KEPT : FOR_EVER),
    async load(chainID, signal) {
      const subnetID = await unlessRefused(api.validatedBy(chainID, signal));
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

  /** Returns the subnet of a blockchain if it is cached. */
  function knownSubnetOf(chainID: BlockchainID): SubnetID | undefined {
    return chainID === P_CHAIN_ID ? PRIMARY_NETWORK_ID : subnetOfChain.peek(chainID);
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
    /** Returns undefined for an unknown blockchain. */
    async validatedBy(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined> {
      signal.throwIfAborted();
      if (missingChains.has(chainID)) return undefined;
      return knownSubnetOf(chainID) ?? subnetOfChain.get(chainID, signal);
    },
    /** Distinguishes an unknown subnet from one without validators: both have an empty validator set. */
    async exists(subnetID: SubnetID, signal: AbortSignal): Promise<boolean> {
      return isKnown(subnetID) || (await getSubnet(subnetID, signal)) !== undefined;
    },
  };
}

function createMissing(clock: Clock) {
  const untilMs = createLru<string, number>(MAX_MISSING);
  return {
    has: (id: string): boolean => clock.monotonicMs() < (untilMs.get(id) ?? Number.NEGATIVE_INFINITY),
    add: (id: string): void => void untilMs.set(id, clock.monotonicMs() + MISSING_MS),
  };
}

const NOT_KEPT = 0;
const FOR_EVER = Number.POSITIVE_INFINITY;
