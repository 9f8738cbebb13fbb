import { LRUCache } from 'lru-cache';
import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { equalBytes } from '../../lib/encoding/bytes.ts';
import type { Validator } from '../../validators/validator.ts';
import type { SubnetID } from '../../warp/ids.ts';
import { ApiError } from '../rpc/api-error.ts';
import type { NodeApi } from '../rpc/node-api.ts';

/**
 * The requested height is above the node's last accepted block. If it came from {@link ValidatorSets.proposedHeight}, another base URL
 * lags behind, and a retry helps.
 */
export class HeightNotReached extends Error {
  override readonly name = 'HeightNotReached';
}

/**
 * Cache of validator sets at heights, each converted once to the caller's form `T`. Sets never change. Failures are not cached. Equal calls
 * in flight are shared. Heights named by clients have a separate cache, so that they do not evict sets at proposed heights.
 */
export interface ValidatorSets<T> {
  /**
   * Returns the proposed P-Chain height, at most `proposedHeightMaxAgeMs` old. With several base URLs it may decrease a little.
   *
   * @throws {ApiError}, or the signal's reason
   */
  proposedHeight(signal: AbortSignal): Promise<bigint>;
  /**
   * Returns the set of a subnet at a proposed height; empty for an unknown subnet.
   *
   * @throws {HeightNotReached}, {@link ApiError}, what `build` throws, or the signal's reason
   */
  at(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<T>;
  /**
   * Returns the set of a subnet at the proposed height, with the height. An API that serves only the current height may have left it
   * behind, and another one may lag behind, so both are read again then.
   *
   * @throws {HeightNotReached}, {@link ApiError}, what `build` throws, or the signal's reason
   */
  atProposed(
    subnetID: SubnetID,
    signal: AbortSignal,
  ): Promise<{
    readonly height: bigint;
    readonly set: T;
  }>;
  /** Like `at`, for a height named by a client. */
  atPinned(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<T>;
  /** Returns the proposed height if it is cached. */
  knownProposedHeight(): bigint | undefined;
  /** Returns the set of a subnet at a height if it is cached. */
  known(subnetID: SubnetID, height: bigint): T | undefined;
  /** Returns the set at the greatest height of each recent subnet, the most recently used subnet first. */
  newest(): readonly (readonly [SubnetID, T])[];
}

export interface ValidatorSetsLimits {
  /** Heights change every few seconds. */
  readonly proposedHeightMaxAgeMs: number;
  /** About an hour of heights of one subnet, or minutes of many. */
  readonly maxSets: number;
  /** Validators in all sets, at about 0.5 KB each: some 50 MB. */
  readonly maxValidators: number;
  /** Sets at heights named by clients: relayers name the height of an epoch, which lasts for minutes. */
  readonly maxPinnedSets: number;
  /** Validators in these sets: some 12 MB. */
  readonly maxPinnedValidators: number;
}

const DEFAULT_LIMITS: ValidatorSetsLimits = {
  proposedHeightMaxAgeMs: 1_000,
  maxSets: 1_024,
  maxValidators: 100_000,
  maxPinnedSets: 256,
  maxPinnedValidators: 25_000,
};

export interface ValidatorSetsOptions<T> {
  readonly api: Pick<NodeApi, 'getProposedHeight' | 'getValidatorsAt'>;
  readonly clock: Clock;
  /** Must be pure: the result is shared by all heights with equal validators. */
  readonly build: (validators: readonly Validator[]) => T | Promise<T>;
  readonly limits?: Partial<ValidatorSetsLimits>;
}

/** Readings of the proposed height for one set. */
const MAX_READINGS = 3;

interface CachedSet<T> {
  readonly validators: readonly Validator[];
  readonly set: T;
}

export function createValidatorSets<T>(options: ValidatorSetsOptions<T>): ValidatorSets<T> {
  const { api, clock, build, limits } = options;
  const { proposedHeightMaxAgeMs, maxSets, maxValidators, maxPinnedSets, maxPinnedValidators } = {
    ...DEFAULT_LIMITS,
    ...limits,
  };
  // Counts an empty set, too.
  const sizeOf = ({ validators }: CachedSet<T>): number => validators.length + 1;
  const proposedHeights = new FreshCache<'proposed', bigint>({
    clock,
    max: 1,
    maxAgeMs: proposedHeightMaxAgeMs,
    load: (_, signal) => api.getProposedHeight(signal),
  });
  const proposed = createSetCache(maxSets, maxValidators);
  const pinned = createSetCache(maxPinnedSets, maxPinnedValidators);

  /** Set at the greatest height of each subnet. Its object is reused, because validators change far more rarely than heights. */
  const newest = new LRUCache<SubnetID, { readonly height: bigint; readonly entry: CachedSet<T> }>({
    max: maxSets,
    maxSize: maxValidators,
    sizeCalculation: ({ entry }) => sizeOf(entry),
  });

  function createSetCache(max: number, maxOfAll: number): FreshCache<SetKey, CachedSet<T>> {
    return new FreshCache<SetKey, CachedSet<T>>({
      clock,
      max,
      size: { max: maxOfAll, of: sizeOf },
      maxAgeMs: Number.POSITIVE_INFINITY,
      async load(key, signal) {
        const { subnetID, height } = parseSetKey(key);
        return await store(subnetID, height, await getValidatorsAt(subnetID, height, signal));
      },
    });
  }

  async function store(subnetID: SubnetID, height: bigint, validators: readonly Validator[]): Promise<CachedSet<T>> {
    const known = newest.get(subnetID);
    const isSame = known !== undefined && areEqual(known.entry.validators, validators);
    const entry = isSame ? known.entry : { validators, set: await build(validators) };
    if (height >= (newest.get(subnetID)?.height ?? 0n)) newest.set(subnetID, { height, entry });
    return entry;
  }

  async function getValidatorsAt(
    subnetID: SubnetID,
    height: bigint,
    signal: AbortSignal,
  ): Promise<readonly Validator[]> {
    try {
      return await api.getValidatorsAt(subnetID, height, signal);
    } catch (cause) {
      const isAbove = cause instanceof ApiError && cause.code === 'height_not_reached';
      throw isAbove ? new HeightNotReached(cause.message, { cause }) : cause;
    }
  }

  return {
    proposedHeight: (signal: AbortSignal): Promise<bigint> => proposedHeights.get('proposed', signal),
    async at(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<T> {
      return (await proposed.get(setKey(subnetID, height), signal)).set;
    },
    async atProposed(subnetID: SubnetID, signal: AbortSignal): Promise<{ readonly height: bigint; readonly set: T }> {
      for (let readings = 1; ; readings += 1) {
        const height = await proposedHeights.get('proposed', signal);
        try {
          return { height, set: (await proposed.get(setKey(subnetID, height), signal)).set };
        } catch (error) {
          const isLeftBehind = error instanceof ApiError && error.code === 'height_not_served';
          if (!isLeftBehind && !(error instanceof HeightNotReached)) throw error;
          if (proposedHeights.peek('proposed') === height) proposedHeights.delete('proposed');
          if (readings < MAX_READINGS) continue;
          throw isLeftBehind ? new ApiError('unavailable', error.message, { cause: error }) : error;
        }
      }
    },
    async atPinned(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<T> {
      signal.throwIfAborted();
      const key = setKey(subnetID, height);
      return (proposed.peek(key) ?? (await pinned.get(key, signal))).set;
    },
    knownProposedHeight: () => proposedHeights.peek('proposed'),
    known(subnetID: SubnetID, height: bigint): T | undefined {
      const key = setKey(subnetID, height);
      return (proposed.peek(key) ?? pinned.peek(key))?.set;
    },
    newest: (): readonly (readonly [SubnetID, T])[] =>
      [...newest.entries()].map(([subnetID, { entry }]) => [subnetID, entry.set] as const),
  };
}

type SetKey = `${string}@${bigint}`;

function setKey(subnetID: SubnetID, height: bigint): SetKey {
  return `${subnetID}@${height}`;
}

function parseSetKey(key: SetKey): { readonly subnetID: SubnetID; readonly height: bigint } {
  const [subnetID, height] = key.split('@') as [SubnetID, string];
  return { subnetID, height: BigInt(height) };
}

function areEqual(a: readonly Validator[], b: readonly Validator[]): boolean {
  return a.length === b.length && a.every((validator, index) => isEqual(validator, b[index]));
}

function isEqual(a: Validator, b: Validator | undefined): boolean {
  if (a === b) return true;
  if (b === undefined || a.nodeID !== b.nodeID || a.weight !== b.weight) return false;
  if (a.publicKey === undefined || b.publicKey === undefined) return a.publicKey === b.publicKey;
  return equalBytes(a.publicKey, b.publicKey);
}
