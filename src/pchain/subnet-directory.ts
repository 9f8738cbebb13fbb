import { LRUCache } from 'lru-cache';
import type { Clock } from '../primitives/clock.ts';
import { FreshCache } from '../primitives/fresh-cache.ts';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import { unlessRefused } from './api-error.ts';
import type { NodeApi, Subnet } from './node-api.ts';

/**
 * Which subnets and blockchains exist. What can never change again is kept: the subnet of a blockchain, that a subnet exists,
 * and an L1's conversion. What may change is asked each time: that something does not exist, and that a subnet is not (yet) an
 * L1. Equal questions in flight share one call.
 *
 * All methods reject with {@link ApiError}, or with the signal's reason.
 */
export interface SubnetDirectory {
  /** The subnet that validates a blockchain; undefined if there is no such blockchain. */
  validatedBy(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined>;
  /** Whether a subnet exists. Tells an unknown subnet from one without validators: the sets of both are empty. */
  exists(subnetID: SubnetID, signal: AbortSignal): Promise<boolean>;
  /** Undefined if there is no such subnet. */
  getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined>;
}

/** Of each kind; far more than mainnet's few hundred subnets and chains, and some 4 MB in all. */
const MAX_KEPT = 10_000;

/**
 * The node does not count the primary network among the subnets, and refuses to describe it. It has no owner and no manager.
 */
const PRIMARY_NETWORK: Subnet = {
  isPermissioned: false,
  conversionID: undefined,
  managerChainID: undefined,
  managerAddress: undefined,
};

export function createSubnetDirectory(api: Pick<NodeApi, 'validatedBy' | 'getSubnet'>, clock: Clock): SubnetDirectory {
  const existing = new LRUCache<SubnetID, true>({ max: MAX_KEPT });
  const subnetOfChain = new FreshCache<BlockchainID, SubnetID | undefined>({
    clock,
    max: MAX_KEPT,
    maxAgeMs: (subnetID) => (subnetID === undefined ? NOT_KEPT : FOR_EVER),
    async load(chainID, signal) {
      const subnetID = await unlessRefused(api.validatedBy(chainID, signal));
      if (subnetID !== undefined) existing.set(subnetID, true);
      return subnetID;
    },
  });
  const subnets = new FreshCache<SubnetID, Subnet | undefined>({
    clock,
    max: MAX_KEPT,
    maxAgeMs: (subnet) => (subnet?.conversionID === undefined ? NOT_KEPT : FOR_EVER),
    async load(subnetID, signal) {
      const subnet = await unlessRefused(api.getSubnet(subnetID, signal));
      if (subnet !== undefined) existing.set(subnetID, true);
      return subnet;
    },
  });

  async function getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined> {
    signal.throwIfAborted();
    return subnetID === PRIMARY_NETWORK_ID ? PRIMARY_NETWORK : subnets.get(subnetID, signal);
  }

  return {
    getSubnet,
    async validatedBy(chainID, signal) {
      signal.throwIfAborted();
      return chainID === P_CHAIN_ID ? PRIMARY_NETWORK_ID : subnetOfChain.get(chainID, signal);
    },
    async exists(subnetID, signal) {
      return existing.get(subnetID) === true || (await getSubnet(subnetID, signal)) !== undefined;
    },
  };
}

const NOT_KEPT = 0;
const FOR_EVER = Number.POSITIVE_INFINITY;
