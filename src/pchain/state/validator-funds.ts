import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID, type ValidationID } from '../../warp/ids.ts';
import type { NodeApi } from '../rpc/node-api.ts';

/** Which L1 validators have little left of the balance that keeps them active. */
export interface ValidatorFunds {
  /**
   * The validators of a subnet whose balance is below {@link MIN_L1_VALIDATOR_BALANCE}, or ends within
   * {@link ValidatorFundsLimits.soonMs}. Validators of the primary network pay nothing.
   *
   * @param warpSet the set that they are looked for in: balances are read anew where they are older than one of its validators
   * @throws {ApiError}, or the signal's reason
   */
  soonInactive(subnetID: SubnetID, warpSet: WarpSet, signal: AbortSignal): Promise<ReadonlySet<NodeID>>;
  /** The same where the API does not have to be asked; else undefined. */
  knownSoonInactive(subnetID: SubnetID, warpSet: WarpSet): ReadonlySet<NodeID> | undefined;
  /**
   * The L1 validators of a subnet as of its last block, inactive ones too; none of a subnet that is no L1. Balances are those of up to
   * {@link ValidatorFundsLimits.maxAgeMs} ago, and of large subnets {@link ValidatorFundsLimits.maxAgeOfLargeMs}.
   *
   * @throws {ApiError}, or the signal's reason
   */
  fundsOf(subnetID: SubnetID, signal: AbortSignal): Promise<ReadonlyMap<NodeID, L1ValidatorFunds>>;
}

export interface L1ValidatorFunds {
  readonly validationID: ValidationID;
  readonly weight: bigint;
  /** In nAVAX; 0 of an inactive validator. */
  readonly balance: bigint;
}

export interface ValidatorFundsLimits {
  /** As long as a signed message takes to be collected, handed to a wallet and put into a block. */
  readonly soonMs: number;
  /**
   * How old balances may be, and how old those of large subnets. They fall at a known pace and are counted down here: only what a
   * transaction changed is noticed this late.
   */
  readonly maxAgeMs: number;
  readonly maxAgeOfLargeMs: number;
}

/**
 * In nAVAX: what the Go aggregator asks of an L1 validator (icm-services `signature-aggregator/aggregator/aggregator.go`,
 * minimumL1ValidatorBalance). It is four seconds of the least fee of public networks, 512 nAVAX a second (avalanchego
 * `genesis/genesis_fuji.go`, ValidatorFeeConfig): a validator with less may be inactive at the next block.
 */
const MIN_L1_VALIDATOR_BALANCE = 2_048n;

const DEFAULT_LIMITS: ValidatorFundsLimits = { soonMs: 30_000, maxAgeMs: 2_000, maxAgeOfLargeMs: 30_000 };
/** Reading takes some 10 µs a validator: at this age no more than 0.2 % of the time. */
const AGE_MS_PER_VALIDATOR = 5;
/** Subnets whose balances are kept, at 250 bytes for each of some tens of validators. */
const MAX_SUBNETS = 1_000;

interface Funds {
  readonly ofNodes: ReadonlyMap<NodeID, L1ValidatorFunds>;
  /** From when on each L1 validator has little left, in monotonic time, if the fee stays as it is. */
  readonly lowFromMs: ReadonlyMap<NodeID, number>;
  /** The first of these. */
  readonly firstLowMs: number;
  /** All validators of the subnet, those without a balance too. */
  readonly nodeIDs: ReadonlySet<NodeID>;
  /** The sets that hold no validator whose balance was read too early. */
  readonly covered: WeakSet<WarpSet>;
}

export function createValidatorFunds(
  api: Pick<NodeApi, 'getCurrentValidators' | 'getValidatorFeePrice'>,
  clock: Clock,
  limits: Partial<ValidatorFundsLimits> = {},
): ValidatorFunds {
  const { soonMs, maxAgeMs, maxAgeOfLargeMs } = { ...DEFAULT_LIMITS, ...limits };
  const funds = new FreshCache<SubnetID, Funds>({
    clock,
    max: MAX_SUBNETS,
    maxAgeMs: ({ nodeIDs }) => Math.min(Math.max(maxAgeMs, nodeIDs.size * AGE_MS_PER_VALIDATOR), maxAgeOfLargeMs),
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

  /** Infinite without a fee; 0 or less where it is low already. */
  function secondsUntilLow(balance: bigint, price: bigint): number {
    const soon = (price * BigInt(soonMs)) / 1_000n;
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

  /** A validator may have registered since balances were read: then they are read once more. */
  async function fundsFor(subnetID: SubnetID, warpSet: WarpSet, signal: AbortSignal): Promise<Funds> {
    const known = await funds.get(subnetID, signal);
    if (isCovered(known, warpSet)) return known;
    if (funds.peek(subnetID) === known) funds.delete(subnetID);
    const read = await funds.get(subnetID, signal);
    // Validators that are not there even now were removed, and have no balance.
    read.covered.add(warpSet);
    return read;
  }

  function lowNow({ lowFromMs, firstLowMs }: Funds): ReadonlySet<NodeID> {
    const nowMs = clock.monotonicMs();
    if (firstLowMs >= nowMs) return NOBODY;
    return new Set([...lowFromMs].flatMap(([nodeID, fromMs]) => (fromMs < nowMs ? [nodeID] : [])));
  }

  return {
    async soonInactive(subnetID, warpSet, signal) {
      signal.throwIfAborted();
      if (subnetID === PRIMARY_NETWORK_ID) return NOBODY;
      return lowNow(await fundsFor(subnetID, warpSet, signal));
    },
    knownSoonInactive(subnetID, warpSet) {
      if (subnetID === PRIMARY_NETWORK_ID) return NOBODY;
      const known = funds.peek(subnetID);
      return known && isCovered(known, warpSet) ? lowNow(known) : undefined;
    },
    async fundsOf(subnetID, signal) {
      signal.throwIfAborted();
      return subnetID === PRIMARY_NETWORK_ID ? NO_FUNDS : (await funds.get(subnetID, signal)).ofNodes;
    },
  };
}

const NOBODY: ReadonlySet<NodeID> = new Set();
const NO_FUNDS: ReadonlyMap<NodeID, L1ValidatorFunds> = new Map();
