import { LRUCache } from 'lru-cache';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import { ApiError } from './api-error.ts';
import type { NodeApi, Subnet } from './node-api.ts';

/**
 * Which subnets and blockchains there are. What can never change again is kept: the subnet of a blockchain, that a
 * subnet exists, and an L1's conversion. What may change is asked each time: that something does not exist, and that a
 * subnet is not (yet) an L1. Equal questions in flight share one call.
 *
 * All methods reject with {@link ApiError}, or with the signal's reason.
 */
export interface SubnetDirectory {
  /** The subnet that validates a blockchain; undefined where there is no such blockchain. */
  validatedBy(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined>;
  /** Whether a subnet exists. Tells an unknown subnet from one without validators: the sets of both are empty. */
  exists(subnetID: SubnetID, signal: AbortSignal): Promise<boolean>;
  /** Undefined where there is no such subnet. */
  getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined>;
}

/** Of each kind; far more than mainnet's few hundred subnets and chains, and some 4 MB in all. */
const MAX_KEPT = 10_000;

/**
 * The node does not take the primary network for a subnet, and refuses to describe it. It has no owner and no manager.
 */
const PRIMARY_NETWORK: Subnet = {
  isPermissioned: false,
  conversionID: undefined,
  managerChainID: undefined,
  managerAddress: undefined,
};

export function createSubnetDirectory(api: Pick<NodeApi, 'validatedBy' | 'getSubnet'>): SubnetDirectory {
  const subnetOfChain = new LRUCache<BlockchainID, SubnetID>({ max: MAX_KEPT });
  const existing = new LRUCache<SubnetID, true>({ max: MAX_KEPT });
  const l1s = new LRUCache<SubnetID, Subnet>({ max: MAX_KEPT });
  const chainFlights = new SingleFlight<BlockchainID, SubnetID | undefined>();
  const subnetFlights = new SingleFlight<SubnetID, Subnet | undefined>();

  async function fetchSubnetOfChain(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined> {
    const subnetID = await unlessRefused(api.validatedBy(chainID, signal));
    if (subnetID === undefined) return undefined;
    subnetOfChain.set(chainID, subnetID);
    existing.set(subnetID, true);
    return subnetID;
  }

  async function fetchSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined> {
    const subnet = await unlessRefused(api.getSubnet(subnetID, signal));
    if (subnet === undefined) return undefined;
    existing.set(subnetID, true);
    if (subnet.conversionID !== undefined) l1s.set(subnetID, subnet);
    return subnet;
  }

  async function getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined> {
    signal.throwIfAborted();
    if (subnetID === PRIMARY_NETWORK_ID) return PRIMARY_NETWORK;
    return l1s.get(subnetID) ?? subnetFlights.run(subnetID, (flight) => fetchSubnet(subnetID, flight), signal);
  }

  return {
    getSubnet,
    async validatedBy(chainID, signal) {
      signal.throwIfAborted();
      if (chainID === P_CHAIN_ID) return PRIMARY_NETWORK_ID;
      const known = subnetOfChain.get(chainID);
      return known ?? chainFlights.run(chainID, (flight) => fetchSubnetOfChain(chainID, flight), signal);
    },
    async exists(subnetID, signal) {
      return existing.get(subnetID) === true || (await getSubnet(subnetID, signal)) !== undefined;
    },
  };
}

/**
 * The code of all that the reference node's methods refuse. Others (no such method, bad request) say nothing about the
 * ID.
 */
const SERVER_ERROR = -32_000;

async function unlessRefused<Value>(call: Promise<Value>): Promise<Value | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError && error.rejection?.code === SERVER_ERROR) return undefined;
    throw error;
  }
}
