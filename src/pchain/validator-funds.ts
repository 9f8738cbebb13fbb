import { LRUCache } from 'lru-cache';
import type { Clock } from '../primitives/clock.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import type { NodeApi } from './node-api.ts';

/** Which L1 validators are about to run out of the balance that keeps them active. */
export interface ValidatorFunds {
  /**
   * The validators of a subnet that are active and will not be in {@link ValidatorFundsLimits.soonMs}. Those of the primary
   * network pay nothing.
   *
   * @throws {ApiError}, or the signal's reason
   */
  soonInactive(subnetID: SubnetID, signal: AbortSignal): Promise<ReadonlySet<NodeID>>;
}

export interface ValidatorFundsLimits {
  /** As long as a signed message is on its way: collected, handed to a wallet, put into a block. */
  readonly soonMs: number;
  /** How old balances may be. They fall at a known pace and are counted down; only a top-up is noticed so much later. */
  readonly maxAgeMs: number;
}

const DEFAULT_LIMITS: ValidatorFundsLimits = { soonMs: 30_000, maxAgeMs: 30_000 };
/** Subnets whose balances are kept, at 50 bytes for each of some tens of validators. */
const MAX_SUBNETS = 1_000;

interface Funds {
  readonly receivedMs: number;
  /** When each active validator's balance ends, if the fee stays as it is. */
  readonly endsMs: ReadonlyMap<NodeID, number>;
}

export function createValidatorFunds(
  api: Pick<NodeApi, 'getCurrentValidators' | 'getValidatorFeePrice'>,
  clock: Clock,
  limits: Partial<ValidatorFundsLimits> = {},
): ValidatorFunds {
  const { soonMs, maxAgeMs } = { ...DEFAULT_LIMITS, ...limits };
  const kept = new LRUCache<SubnetID, Funds>({ max: MAX_SUBNETS });
  const flights = new SingleFlight<SubnetID, Funds>();

  async function fetchFunds(subnetID: SubnetID, signal: AbortSignal): Promise<Funds> {
    const [validators, price] = await Promise.all([
      api.getCurrentValidators(subnetID, signal),
      api.getValidatorFeePrice(signal),
    ]);
    const receivedMs = clock.monotonicMs();
    const endsMs = new Map<NodeID, number>();
    for (const { nodeID, balance } of validators) {
      // Without a balance it is no L1 validator, or an inactive one, which is not in the set anyway.
      if (balance === undefined || balance === 0n || price === 0n) continue;
      endsMs.set(nodeID, receivedMs + Number(balance / price) * 1_000);
    }
    const funds = { receivedMs, endsMs };
    kept.set(subnetID, funds);
    return funds;
  }

  return {
    async soonInactive(subnetID, signal) {
      signal.throwIfAborted();
      if (subnetID === PRIMARY_NETWORK_ID) return NOBODY;
      const known = kept.get(subnetID);
      const isFresh = known !== undefined && clock.monotonicMs() - known.receivedMs < maxAgeMs;
      const { endsMs } = isFresh
        ? known
        : await flights.run(subnetID, (flight) => fetchFunds(subnetID, flight), signal);
      const limitMs = clock.monotonicMs() + soonMs;
      const ending = [...endsMs].flatMap(([nodeID, endMs]) => (endMs < limitMs ? [nodeID] : []));
      return ending.length === 0 ? NOBODY : new Set(ending);
    },
  };
}

const NOBODY: ReadonlySet<NodeID> = new Set();
