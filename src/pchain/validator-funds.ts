import type { Clock } from '../primitives/clock.ts';
import { FreshCache } from '../primitives/fresh-cache.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID, type ValidationID } from '../primitives/ids.ts';
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
  /** The same where nobody has to be asked; else undefined. */
  knownSoonInactive(subnetID: SubnetID): ReadonlySet<NodeID> | undefined;
  /**
   * The L1 validators of a subnet as of its last block, inactive ones too; none of a subnet that is no L1. Balances are those of up to
   * {@link ValidatorFundsLimits.maxAgeMs} ago.
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
  /** How old balances may be. They fall at a known pace and are counted down here; only a top-up is noticed this late. */
  readonly maxAgeMs: number;
}

const DEFAULT_LIMITS: ValidatorFundsLimits = { soonMs: 30_000, maxAgeMs: 30_000 };
/** Subnets whose balances are kept, at 250 bytes for each of some tens of validators. */
const MAX_SUBNETS = 1_000;

interface Funds {
  readonly ofNodes: ReadonlyMap<NodeID, L1ValidatorFunds>;
  /** When each active validator's balance ends in monotonic time, if the fee stays as it is. */
  readonly endsMs: ReadonlyMap<NodeID, number>;
  /** The first of these. */
  readonly firstEndMs: number;
}

export function createValidatorFunds(
  api: Pick<NodeApi, 'getCurrentValidators' | 'getValidatorFeePrice'>,
  clock: Clock,
  limits: Partial<ValidatorFundsLimits> = {},
): ValidatorFunds {
  const { soonMs, maxAgeMs } = { ...DEFAULT_LIMITS, ...limits };
  const funds = new FreshCache<SubnetID, Funds>({
    clock,
    max: MAX_SUBNETS,
    maxAgeMs,
    load: loadFunds,
  });

  async function loadFunds(subnetID: SubnetID, signal: AbortSignal): Promise<Funds> {
    const [validators, price] = await Promise.all([
      api.getCurrentValidators(subnetID, signal),
      api.getValidatorFeePrice(signal),
    ]);
    const nowMs = clock.monotonicMs();
    const endsMs = new Map<NodeID, number>();
    const ofNodes = new Map<NodeID, L1ValidatorFunds>();
    for (const { nodeID, balance, weight, validationID } of validators) {
      if (validationID !== undefined && balance !== undefined) ofNodes.set(nodeID, { validationID, weight, balance });
      // Without a balance it is no L1 validator, or an inactive one, which is not in the set anyway.
      if (balance === undefined || balance === 0n || price === 0n) continue;
      endsMs.set(nodeID, nowMs + Number(balance / price) * 1_000);
    }
    return { ofNodes, endsMs, firstEndMs: Math.min(...endsMs.values()) };
  }

  function endingSoon({ endsMs, firstEndMs }: Funds): ReadonlySet<NodeID> {
    const limitMs = clock.monotonicMs() + soonMs;
    if (firstEndMs >= limitMs) return NOBODY;
    return new Set([...endsMs].flatMap(([nodeID, endMs]) => (endMs < limitMs ? [nodeID] : [])));
  }

  return {
    async soonInactive(subnetID, signal) {
      signal.throwIfAborted();
      if (subnetID === PRIMARY_NETWORK_ID) return NOBODY;
      return endingSoon(await funds.get(subnetID, signal));
    },
    knownSoonInactive(subnetID) {
      if (subnetID === PRIMARY_NETWORK_ID) return NOBODY;
      const known = funds.peek(subnetID);
      return known && endingSoon(known);
    },
    async fundsOf(subnetID, signal) {
      signal.throwIfAborted();
      return subnetID === PRIMARY_NETWORK_ID ? NO_FUNDS : (await funds.get(subnetID, signal)).ofNodes;
    },
  };
}

const NOBODY: ReadonlySet<NodeID> = new Set();
const NO_FUNDS: ReadonlyMap<NodeID, L1ValidatorFunds> = new Map();
