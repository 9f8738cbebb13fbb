import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import { createLru } from '../../lib/cache/lru.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { unlessRefused } from '../rpc/api-error.ts';
import type { NodeApi, Subnet } from '../rpc/node-api.ts';

/**
 * Which subnets and blockchains exist. What can never change again is kept: the subnet of a blockchain, that a subnet exists,
 * and an L1's conversion. That something does not exist is kept for some seconds, apart from the rest: anybody can ask for what
 * is not there. That a subnet is not (yet) an L1 is asked each time. Equal questions in flight share one call.
 *
 * All methods reject with {@link ApiError}, or with the signal's reason.
 */
export interface SubnetDirectory {
  /** The subnet that validates a blockchain; undefined if there is no such blockchain. */
  validatedBy(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID | undefined>;
  /** Whether a subnet exists. Tells an unknown subnet from one without validators: the sets of both are empty. */
  exists(subnetID: SubnetID, signal: AbortSignal): Promise<boolean>;
  /** The subnet of a blockchain where it is known already. */
  knownSubnetOf(chainID: BlockchainID): SubnetID | undefined;
  /** Whether a subnet is known already to exist. */
  isKnown(subnetID: SubnetID): boolean;
  /** Undefined if there is no such subnet. */
  getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined>;
}

/** Of each kind; far more than mainnet's few hundred subnets and chains, and some 4 MB in all. */
const MAX_KEPT = 10_000;

/** Of each kind, under 2 MB in all; beyond it the oldest is forgotten, and asked for again. */
const MAX_MISSING = 10_000;
/** Whoever has just created a chain waits no longer than this; a flood that names one asks once in that time. */
const MISSING_MS = 3_000;

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
  const existing = createLru<SubnetID, true>(MAX_KEPT);
  const missingChains = new Missing<BlockchainID>(clock);
  const missingSubnets = new Missing<SubnetID>(clock);
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

  function knownSubnetOf(chainID: BlockchainID): SubnetID | undefined {
    return chainID === P_CHAIN_ID ? PRIMARY_NETWORK_ID : subnetOfChain.peek(chainID);
  }

  function isKnown(subnetID: SubnetID): boolean {
    return subnetID === PRIMARY_NETWORK_ID || existing.get(subnetID) === true;
  }

  async function getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet | undefined> {
    signal.throwIfAborted();
    if (subnetID === PRIMARY_NETWORK_ID) return PRIMARY_NETWORK;
    return missingSubnets.has(subnetID) && !isKnown(subnetID) ? undefined : subnets.get(subnetID, signal);
  }

  return {
    knownSubnetOf,
    isKnown,
    getSubnet,
    async validatedBy(chainID, signal) {
      signal.throwIfAborted();
      if (missingChains.has(chainID)) return undefined;
      return knownSubnetOf(chainID) ?? subnetOfChain.get(chainID, signal);
    },
    async exists(subnetID, signal) {
      return isKnown(subnetID) || (await getSubnet(subnetID, signal)) !== undefined;
    },
  };
}

/** What was found a short while ago not to exist. */
class Missing<ID extends string> {
  readonly #clock: Clock;
  readonly #untilMs = createLru<ID, number>(MAX_MISSING);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(id: ID): boolean {
    const untilMs = this.#untilMs.get(id);
    return untilMs !== undefined && this.#clock.monotonicMs() < untilMs;
  }

  add(id: ID): void {
    this.#untilMs.set(id, this.#clock.monotonicMs() + MISSING_MS);
  }
}

const NOT_KEPT = 0;
const FOR_EVER = Number.POSITIVE_INFINITY;
