import { LRUCache } from 'lru-cache';
import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { equalBytes } from '../../lib/encoding/bytes.ts';
import type { SharedValidatorSets } from '../../store/redis/shared-validator-sets.ts';
import type { Validator } from '../../validators/validator.ts';
import type { SubnetID } from '../../warp/ids.ts';
import { ApiError } from '../rpc/api-error.ts';
import type { NodeApi } from '../rpc/node-api.ts';

/**
 * The node refused a validator set because its last accepted block is below the height asked for. If the caller chose the
 * height, that was a mistake. If it came from {@link ValidatorSets.proposedHeight}, another base URL that lags behind has
 * answered since, and trying again helps.
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
 * Validator sets at heights, in the form `T` into which the caller turns each of them once. A set of the past never changes, so
 * it is kept as long as there is room. A failure is not kept. Equal requests in flight share one call.
 *
 * Heights that clients name have room of their own: whoever names one after the other pushes out no set that the others need.
 */
export interface ValidatorSets<T> {
  /**
   * The proposed P-Chain height, at most `proposedHeightMaxAgeMs` old. With several base URLs it may go back a little.
   *
   * @throws {ApiError}, or the signal's reason
   */
  proposedHeight(signal: AbortSignal): Promise<bigint>;
  /**
   * The set of a subnet at a height that the network has proposed. That of a subnet that does not exist is empty.
   *
   * @throws {HeightNotReached}, {@link ApiError}, what `build` throws, or the signal's reason
   */
  at(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<T>;
  /** The same at any height that a client has named. */
  atPinned(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<T>;
  /** The proposed height where it is known and fresh; undefined where somebody has to be asked. */
  knownProposedHeight(): bigint | undefined;
  /** The set of a subnet at a height, proposed or named by a client, where it is known. */
  known(subnetID: SubnetID, height: bigint): T | undefined;
  /** Of each subnet that was asked for lately the set at the greatest height; the subnet asked for last first. */
  newest(): readonly (readonly [SubnetID, T])[];
}

export interface ValidatorSetsLimits {
  /** Heights change every few seconds, so one of this age is as good as new, and a busy service asks once a second. */
  readonly proposedHeightMaxAgeMs: number;
  /** Sets kept: enough for about an hour of heights of one subnet, or for minutes of many. */
  readonly maxSets: number;
  /** Validators in all kept sets, which bounds memory where sets are large: at about 0.5 KB each, some 50 MB. */
  readonly maxValidators: number;
  /** Sets kept at heights that clients named: relayers name the height of an epoch, which holds for minutes, of some L1s. */
  readonly maxPinnedSets: number;
  /** Validators in these: those of mainnet a dozen times, and some 12 MB. */
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
  readonly api: Pick<NodeApi, 'getHeight' | 'getProposedHeight' | 'getValidatorsAt'>;
  readonly clock: Clock;
  /** Must depend on nothing but its argument: the result is shared by all heights at which the validators are the same. */
  readonly build: (validators: readonly Validator[]) => T | Promise<T>;
  /** Looked in before the node is asked; what it has is believed. */
  readonly shared?: SharedValidatorSets | undefined;
  readonly limits?: Partial<ValidatorSetsLimits>;
}

interface Entry<T> {
  readonly validators: readonly Validator[];
  readonly set: T;
}

/** Sets that have room together. */
interface Part<T> {
  readonly sets: FreshCache<SetKey, Entry<T>>;
  /** The last set of each subnet: heights pass with every block, validators change far more rarely. */
  readonly latest: LRUCache<SubnetID, Entry<T>>;
}

export function createValidatorSets<T>(options: ValidatorSetsOptions<T>): ValidatorSets<T> {
  const { api, clock, build, shared, limits } = options;
  const { proposedHeightMaxAgeMs, maxSets, maxValidators, maxPinnedSets, maxPinnedValidators } = {
    ...DEFAULT_LIMITS,
    ...limits,
  };
  // An empty set takes room too.
  const sizeOf = ({ validators }: Entry<T>): number => validators.length + 1;
  const proposedHeights = new FreshCache<'proposed', bigint>({
    clock,
    max: 1,
    maxAgeMs: proposedHeightMaxAgeMs,
    load: (_, signal) => api.getProposedHeight(signal),
  });
  const proposed = openPart(maxSets, maxValidators, async (key, signal) => {
    const { subnetID, height } = parseSetKey(key);
    const { validators, isNew } = await readValidators(subnetID, height, signal);
    const entry = await remember(proposed, subnetID, height, validators);
    if (isNew) shared?.put(subnetID, height, entry.validators);
    return entry;
  });
  // Not shared with other replicas: a client could fill the store that they have in common.
  const pinned = openPart(maxPinnedSets, maxPinnedValidators, async (key, signal) => {
    const { subnetID, height } = parseSetKey(key);
    const { validators } = await readValidators(subnetID, height, signal);
    return remember(pinned, subnetID, height, validators);
  });

  /** The same sets, mostly: a request for a height of long ago does not replace what a subnet is now. */
  const newest = new LRUCache<SubnetID, { readonly height: bigint; readonly entry: Entry<T> }>({
    max: maxSets,
    maxSize: maxValidators,
    sizeCalculation: ({ entry }) => sizeOf(entry),
  });

  function openPart(
    max: number,
    maxOfAll: number,
    load: (key: SetKey, signal: AbortSignal) => Promise<Entry<T>>,
  ): Part<T> {
    return {
      sets: new FreshCache({
        ...{ clock, max, load },
        size: { max: maxOfAll, of: sizeOf },
        maxAgeMs: Number.POSITIVE_INFINITY,
      }),
      latest: new LRUCache({ max, maxSize: maxOfAll, sizeCalculation: sizeOf }),
    };
  }

  async function readValidators(subnetID: SubnetID, height: bigint, signal: AbortSignal) {
    const read = await shared?.at(subnetID, height);
    signal.throwIfAborted();
    return { validators: read ?? (await getValidatorsAt(subnetID, height, signal)), isNew: read === undefined };
  }

  async function remember(
    { latest }: Part<T>,
    subnetID: SubnetID,
    height: bigint,
    validators: readonly Validator[],
  ): Promise<Entry<T>> {
    const previous = [proposed, pinned]
      .map((part) => part.latest.peek(subnetID))
      .find((entry) => entry !== undefined && areEqual(entry.validators, validators));
    const entry = previous ?? { validators, set: await build(validators) };
    latest.set(subnetID, entry);
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
      if (!(cause instanceof ApiError) || cause.kind !== 'rejected') throw cause;
      // The node has one code for all that it refuses. Its height tells whether the height was the reason.
      const chainHeight = await api.getHeight(signal);
      if (height > chainHeight) throw new HeightNotReached(height, chainHeight, { cause });
      // There was another reason, or the chain has come to the height in between.
      return await api.getValidatorsAt(subnetID, height, signal);
    }
  }

  return {
    proposedHeight: (signal) => proposedHeights.get('proposed', signal),
    at: async (subnetID, height, signal) => (await proposed.sets.get(setKey(subnetID, height), signal)).set,
    async atPinned(subnetID, height, signal) {
      signal.throwIfAborted();
      const key = setKey(subnetID, height);
      return (proposed.sets.peek(key) ?? (await pinned.sets.get(key, signal))).set;
    },
    knownProposedHeight: () => proposedHeights.peek('proposed'),
    known(subnetID, height) {
      const key = setKey(subnetID, height);
      return (proposed.sets.peek(key) ?? pinned.sets.peek(key))?.set;
    },
    newest: () => [...newest.entries()].map(([subnetID, { entry }]) => [subnetID, entry.set] as const),
  };
}

/** A subnet at a height, as a key: the ID has no `@`. */
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
  // As they are read again and again.
  if (a === b) return true;
  if (b === undefined || a.nodeID !== b.nodeID || a.weight !== b.weight) return false;
  if (a.publicKey === undefined || b.publicKey === undefined) return a.publicKey === b.publicKey;
  return equalBytes(a.publicKey, b.publicKey);
}
