import { LRUCache } from 'lru-cache';
import { equalBytes } from '../primitives/bytes.ts';
import type { Clock } from '../primitives/clock.ts';
import type { SubnetID } from '../primitives/ids.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import type { Validator } from '../validators/validator.ts';
import { ApiError } from './api-error.ts';
import type { NodeApi } from './node-api.ts';

/**
 * The node refused a validator set because its last accepted block is below the asked height. Where the caller chose
 * the height, it is the caller's mistake; where it came from {@link ValidatorSets.proposedHeight}, a base URL that lags
 * behind took over in between, and trying again helps.
 */
export class HeightNotReached extends Error {
  override readonly name = 'HeightNotReached';
  readonly height: bigint;
  readonly chainHeight: bigint;

  constructor(height: bigint, chainHeight: bigint, options?: ErrorOptions) {
    super(`P-Chain height ${height} is above the chain's height ${chainHeight}`, options);
    this.height = height;
    this.chainHeight = chainHeight;
  }
}

/**
 * Validator sets at heights, in the form `T` that the caller builds of them once. A set of the past never changes, so
 * one that was built is kept as long as there is room; what failed is asked anew. Equal requests in flight share one
 * call.
 */
export interface ValidatorSets<T> {
  /**
   * The proposed P-Chain height, at most `proposedHeightMaxAgeMs` old. With several base URLs it may step back.
   *
   * @throws {ApiError}, or the signal's reason
   */
  proposedHeight(signal: AbortSignal): Promise<bigint>;
  /**
   * The set of a subnet at a height. A subnet that does not exist has an empty one.
   *
   * @throws {HeightNotReached}, {@link ApiError}, what `build` throws, or the signal's reason
   */
  at(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<T>;
}

export interface ValidatorSetsLimits {
  /** Heights move every few seconds; this old, a height is as good as new, and a busy service asks once a second. */
  readonly proposedHeightMaxAgeMs: number;
  /** Sets kept: the heights of an hour or so for one subnet, those of minutes for many. */
  readonly maxSets: number;
  /** Validators in all kept sets, which bounds memory where sets are large: at about 0.5 KB each, some 50 MB. */
  readonly maxValidators: number;
}

const DEFAULT_LIMITS: ValidatorSetsLimits = {
  proposedHeightMaxAgeMs: 1_000,
  maxSets: 1_024,
  maxValidators: 100_000,
};

export interface ValidatorSetsOptions<T> {
  readonly api: Pick<NodeApi, 'getHeight' | 'getProposedHeight' | 'getValidatorsAt'>;
  readonly clock: Clock;
  /** Must depend on its argument only: the result is shared between heights at which the validators are the same. */
  readonly build: (validators: readonly Validator[]) => T | Promise<T>;
  readonly limits?: Partial<ValidatorSetsLimits>;
}

export function createValidatorSets<T>({ api, clock, build, limits }: ValidatorSetsOptions<T>): ValidatorSets<T> {
  const { proposedHeightMaxAgeMs, maxSets, maxValidators } = { ...DEFAULT_LIMITS, ...limits };
  interface Entry {
    readonly validators: readonly Validator[];
    readonly set: T;
  }
  const bounds = {
    max: maxSets,
    maxSize: maxValidators,
    // An empty set takes room too.
    sizeCalculation: ({ validators }: Entry) => validators.length + 1,
  };
  const kept = new LRUCache<string, Entry>(bounds);
  /** The last set of each subnet: heights pass with every block, validators change far more rarely. */
  const latest = new LRUCache<SubnetID, Entry>(bounds);
  const setFlights = new SingleFlight<string, T>();
  const heightFlights = new SingleFlight<'proposed', bigint>();
  let proposed: { readonly height: bigint; readonly receivedMs: number } | undefined;

  async function fetchProposedHeight(signal: AbortSignal): Promise<bigint> {
    const height = await api.getProposedHeight(signal);
    proposed = { height, receivedMs: clock.monotonicMs() };
    return height;
  }

  async function fetchSet(subnetID: SubnetID, height: bigint, key: string, signal: AbortSignal): Promise<T> {
    const validators = await getValidatorsAt(subnetID, height, signal);
    const previous = latest.get(subnetID);
    const entry =
      previous !== undefined && areEqual(previous.validators, validators)
        ? previous
        : { validators, set: await build(validators) };
    kept.set(key, entry);
    latest.set(subnetID, entry);
    return entry.set;
  }

  async function getValidatorsAt(
    subnetID: SubnetID,
    height: bigint,
    signal: AbortSignal,
  ): Promise<readonly Validator[]> {
    try {
      return await api.getValidatorsAt(subnetID, height, signal);
    } catch (cause) {
      if (!(cause instanceof ApiError) || cause.kind !== 'rejected') throw cause;
      // The node has one code for all it refuses. Its height tells whether that is why.
      const chainHeight = await api.getHeight(signal);
      if (height > chainHeight) throw new HeightNotReached(height, chainHeight, { cause });
      // Another reason, or the chain came to the height in between.
      return await api.getValidatorsAt(subnetID, height, signal);
    }
  }

  return {
    async proposedHeight(signal) {
      signal.throwIfAborted();
      if (proposed !== undefined && clock.monotonicMs() - proposed.receivedMs < proposedHeightMaxAgeMs) {
        return proposed.height;
      }
      return heightFlights.run('proposed', fetchProposedHeight, signal);
    },
    async at(subnetID, height, signal) {
      signal.throwIfAborted();
      const key = `${subnetID}@${height}`;
      const entry = kept.get(key);
      if (entry !== undefined) return entry.set;
      return setFlights.run(key, (flight) => fetchSet(subnetID, height, key, flight), signal);
    },
  };
}

function areEqual(a: readonly Validator[], b: readonly Validator[]): boolean {
  return a.length === b.length && a.every((validator, index) => isEqual(validator, b[index]));
}

function isEqual(a: Validator, b: Validator | undefined): boolean {
  if (b === undefined || a.nodeID !== b.nodeID || a.weight !== b.weight) return false;
  if (a.publicKey === undefined || b.publicKey === undefined) return a.publicKey === b.publicKey;
  return equalBytes(a.publicKey, b.publicKey);
}
