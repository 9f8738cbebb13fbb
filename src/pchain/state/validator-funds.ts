import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID, type ValidationID } from '../../warp/ids.ts';
import type { NodeApi } from '../rpc/node-api.ts';

/** Balances of L1 validators, which pay a continuous fee to stay active. */
export interface ValidatorFunds {
  /**
   * Returns the validators of a subnet whose balance is below {@link MIN_L1_VALIDATOR_BALANCE}, or ends within {@link SOON_MS}. Validators
   * of the primary network pay nothing.
   *
   * @param warpSet balances are read again if they do not cover all validators of this set
   * @throws {ApiError}, or the signal's reason
   */
  soonInactive(subnetID: SubnetID, warpSet: WarpSet, signal: AbortSignal): Promise<ReadonlySet<NodeID>>;
  /** Returns the cached result, or undefined if an API call is necessary. */
  knownSoonInactive(subnetID: SubnetID, warpSet: WarpSet): ReadonlySet<NodeID> | undefined;
  /**
   * Returns the L1 validators of a subnet with inactive ones; none if the subnet is not an L1. Balances are up to {@link MIN_AGE_MS} old,
   * for large subnets {@link MAX_AGE_MS}.
   *
   * @throws {ApiError}, or the signal's reason
   */
  fundsOf(subnetID: SubnetID, signal: AbortSignal): Promise<ReadonlyMap<NodeID, L1ValidatorFunds>>;
}

export interface L1ValidatorFunds {
  readonly validationID: ValidationID;
  readonly weight: bigint;
  /** In nAVAX; 0 for an inactive validator. */
  readonly balance: bigint;
}

/**
 * In nAVAX: minimum of the Go aggregator (icm-services `signature-aggregator/aggregator/aggregator.go`, minimumL1ValidatorBalance), four
 * seconds of the lowest fee of 512 nAVAX a second (avalanchego `genesis/genesis_fuji.go`, ValidatorFeeConfig).
 */
const MIN_L1_VALIDATOR_BALANCE = 2_048n;

/** Time to collect a signed message, pass it to a wallet and include it in a block. */
const SOON_MS = 30_000;
/** Age after which balances are read again. They are extrapolated by the fee, so only changes by transactions are noticed this late. */
const MIN_AGE_MS = 2_000;
/** Balances of large subnets are read less often: parsing takes some 10 µs for each validator, 0.2 % of this age. */
const AGE_MS_PER_VALIDATOR = 5;
const MAX_AGE_MS = 30_000;
/** 250 bytes for each of some tens of validators. */
const MAX_SUBNETS = 1_000;

interface Funds {
  readonly ofNodes: ReadonlyMap<NodeID, L1ValidatorFunds>;
  /** Monotonic time from which a balance is too low, if the fee does not change. */
  readonly lowFromMs: ReadonlyMap<NodeID, number>;
  readonly firstLowMs: number;
  /** All validators of the subnet, also without a balance. */
  readonly nodeIDs: ReadonlySet<NodeID>;
  /** Sets whose validators are all in `nodeIDs`, or were removed. */
  readonly covered: WeakSet<WarpSet>;
}

export function createValidatorFunds(
  api: Pick<NodeApi, 'getCurrentValidators' | 'getValidatorFeePrice'>,
  clock: Clock,
): ValidatorFunds {
  const funds = new FreshCache<SubnetID, Funds>({
    clock,
    max: MAX_SUBNETS,
    maxAgeMs: ({ nodeIDs }) => Math.min(Math.max(MIN_AGE_MS, nodeIDs.size * AGE_MS_PER_VALIDATOR), MAX_AGE_MS),
    load: loadFunds,
  });

  async function loadFunds(subnetID: SubnetID, signal: AbortSignal): Promise<Funds> {
    const [validators, price] = await Promise.all([
      api.getCurrentValidators(subnetID, signal),
      api.getValidatorFeePrice(signal),
    ]);
    const nowMs = clock.monotonicMs();
    const lowFromMs = new Map<NodeID, number>();
    const ofNodes = new Map<NodeID, L1ValidatorFunds>();
    for (const { nodeID, balance, weight, validationID } of validators) {
      if (balance === undefined) continue;
      if (validationID !== undefined) ofNodes.set(nodeID, { validationID, weight, balance });
      lowFromMs.set(nodeID, nowMs + secondsUntilLow(balance, price) * 1_000);
    }
    const nodeIDs = new Set(validators.map(({ nodeID }) => nodeID));
    return { ofNodes, lowFromMs, firstLowMs: Math.min(...lowFromMs.values()), nodeIDs, covered: new WeakSet() };
  }

  /** Infinite without a fee; negative if the balance is too low now. */
  function secondsUntilLow(balance: bigint, price: bigint): number {
    const soon = (price * BigInt(SOON_MS)) / 1_000n;
    const left = balance - (soon > MIN_L1_VALIDATOR_BALANCE ? soon : MIN_L1_VALIDATOR_BALANCE);
    if (left < 0n) return Number.NEGATIVE_INFINITY;
    return price === 0n ? Number.POSITIVE_INFINITY : Number(left / price);
  }

  function isCovered({ covered, nodeIDs }: Funds, warpSet: WarpSet): boolean {
    if (covered.has(warpSet)) return true;
    if (!warpSet.validators.every((validator) => validator.nodeIDs.every((nodeID) => nodeIDs.has(nodeID))))
      return false;
    covered.add(warpSet);
    return true;
  }

  /** Reads balances once more if a validator was registered since. */
  async function fundsFor(subnetID: SubnetID, warpSet: WarpSet, signal: AbortSignal): Promise<Funds> {
    const known = await funds.get(subnetID, signal);
    if (isCovered(known, warpSet)) return known;
    if (funds.peek(subnetID) === known) funds.delete(subnetID);
    const read = await funds.get(subnetID, signal);
    // Missing validators were removed, and have no balance.
    read.covered.add(warpSet);
    return read;
  }

  function lowNow({ lowFromMs, firstLowMs }: Funds): ReadonlySet<NodeID> {
    const nowMs = clock.monotonicMs();
    if (firstLowMs >= nowMs) return NONE;
    return new Set([...lowFromMs].flatMap(([nodeID, fromMs]) => (fromMs < nowMs ? [nodeID] : [])));
  }

  return {
    async soonInactive(subnetID, warpSet, signal) {
      signal.throwIfAborted();
      if (subnetID === PRIMARY_NETWORK_ID) return NONE;
      return lowNow(await fundsFor(subnetID, warpSet, signal));
    },
    knownSoonInactive(subnetID, warpSet) {
      if (subnetID === PRIMARY_NETWORK_ID) return NONE;
      const known = funds.peek(subnetID);
      return known && isCovered(known, warpSet) ? lowNow(known) : undefined;
    },
    async fundsOf(subnetID, signal) {
      signal.throwIfAborted();
      return subnetID === PRIMARY_NETWORK_ID ? NO_FUNDS : (await funds.get(subnetID, signal)).ofNodes;
    },
  };
}

const NONE: ReadonlySet<NodeID> = new Set();
const NO_FUNDS: ReadonlyMap<NodeID, L1ValidatorFunds> = new Map();
