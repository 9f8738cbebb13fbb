import type { Clock } from '../primitives/clock.ts';
import { FreshCache } from '../primitives/fresh-cache.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import type { NodeApi } from './node-api.ts';

/** Which L1 validators will soon have used up the balance that keeps them active. */
export interface ValidatorFunds {
  /**
   * The validators of a subnet that are active now but will not be in {@link ValidatorFundsLimits.soonMs}. Validators of the
   * primary network pay nothing.
   *
   * @throws {ApiError}, or the signal's reason
   */
  soonInactive(subnetID: SubnetID, signal: AbortSignal): Promise<ReadonlySet<NodeID>>;
}

export interface ValidatorFundsLimits {
  /** As long as a signed message takes to be collected, handed to a wallet and put into a block. */
  readonly soonMs: number;
  /** How old balances may be. They fall at a known pace and are counted down here; only a top-up is noticed this late. */
  readonly maxAgeMs: number;
}

const DEFAULT_LIMITS: ValidatorFundsLimits = { soonMs: 30_000, maxAgeMs: 30_000 };
/** Subnets whose balances are kept, at 50 bytes for each of some tens of validators. */
const MAX_SUBNETS = 1_000;

/** When each active validator's balance ends in monotonic time, if the fee stays as it is. */
type BalanceEnds = ReadonlyMap<NodeID, number>;

export function createValidatorFunds(
  api: Pick<NodeApi, 'getCurrentValidators' | 'getValidatorFeePrice'>,
  clock: Clock,
  limits: Partial<ValidatorFundsLimits> = {},
): ValidatorFunds {
  const { soonMs, maxAgeMs } = { ...DEFAULT_LIMITS, ...limits };
  const balanceEnds = new FreshCache<SubnetID, BalanceEnds>({
    clock,
    max: MAX_SUBNETS,
    maxAgeMs,
    load: loadBalanceEnds,
  });

  async function loadBalanceEnds(subnetID: SubnetID, signal: AbortSignal): Promise<BalanceEnds> {
    const [validators, price] = await Promise.all([
      api.getCurrentValidators(subnetID, signal),
      api.getValidatorFeePrice(signal),
    ]);
    const nowMs = clock.monotonicMs();
    const endsMs = new Map<NodeID, number>();
    for (const { nodeID, balance } of validators) {
      // Without a balance it is no L1 validator, or an inactive one, which is not in the set anyway.
      if (balance === undefined || balance === 0n || price === 0n) continue;
      endsMs.set(nodeID, nowMs + Number(balance / price) * 1_000);
    }
    return endsMs;
  }

  return {
    async soonInactive(subnetID, signal) {
      signal.throwIfAborted();
      if (subnetID === PRIMARY_NETWORK_ID) return NOBODY;
      const endsMs = await balanceEnds.get(subnetID, signal);
      const limitMs = clock.monotonicMs() + soonMs;
      const ending = [...endsMs].flatMap(([nodeID, endMs]) => (endMs < limitMs ? [nodeID] : []));
      return ending.length === 0 ? NOBODY : new Set(ending);
    },
  };
}

const NOBODY: ReadonlySet<NodeID> = new Set();
