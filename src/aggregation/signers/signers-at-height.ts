import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { Epoch } from '../../pchain/rpc/chain-api.ts';
import { begunEpoch, type Epochs } from '../../pchain/state/epochs.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { ValidatorFunds } from '../../pchain/state/validator-funds.ts';
import { HeightNotReached, type ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { BlockchainID, NodeID, SubnetID } from '../../warp/ids.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { askOptionally } from '../ask-p-chain.ts';
import { unknownSubnet } from '../unknown-subnet.ts';
import type { EpochReading } from './delivery-warnings.ts';
import type { SignersAtHeight } from './signing-plan.ts';
import type { Destination, SigningQuestion } from './signing-question.ts';

export type HeightChoice = Pick<SigningQuestion, 'pChainHeight' | 'destination'>;

/** What was read of the destination's epoch on the way to the signers. */
interface WithEpoch {
  readonly epoch: EpochReading;
}

export interface SignersReaderOptions {
  readonly directory: Pick<SubnetDirectory, 'exists' | 'getSubnet' | 'validatedBy'>;
  readonly validatorSets: Pick<ValidatorSets<WarpSet>, 'at' | 'atPinned' | 'atProposed'>;
  readonly epochs: Pick<Epochs, 'get' | 'peek'>;
  readonly funds: Pick<ValidatorFunds, 'soonInactive'>;
  readonly clock: Clock;
}

const NOBODY: ReadonlySet<number> = new Set();
const OPTIONAL_QUESTION_MS = 1_500;
const UNREADABLE_MS = 5_000;
const MAX_UNREADABLE = 1_000;

/** Reads the validators that have to sign, at the height that a request names or that its destination's epoch demands. */
export class SignersReader {
  readonly #options: SignersReaderOptions;
  /** Bounds what only a warning or an order needs. */
  readonly #optionalPatience: { readonly clock: Clock; readonly timeoutMs: number };
  readonly #unreadableUntilMs = new LRUCache<BlockchainID, number>({ max: MAX_UNREADABLE });

  constructor(options: SignersReaderOptions) {
    this.#options = options;
    this.#optionalPatience = { clock: options.clock, timeoutMs: OPTIONAL_QUESTION_MS };
  }

  /** @throws {AggregatorError} if the P-Chain has no such subnet: clients can invent IDs, and the node returns an empty set for them */
  async requireSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<void> {
    if (!(await this.#options.directory.exists(subnetID, signal))) throw await this.#withoutSubnet(subnetID, signal);
  }

  async read(at: HeightChoice, signingSubnetID: SubnetID, signal: AbortSignal): Promise<SignersAtHeight & WithEpoch> {
    const found = await this.#findSet(at, signingSubnetID, signal).catch((error: unknown) => {
      throw describeHeight(error, at);
    });
    const soonInactive = await askOptionally(this.#optionalPatience, signal, (until) =>
      this.#options.funds.soonInactive(signingSubnetID, found.warpSet, until),
    );
    const avoided = soonInactive === undefined ? NOBODY : indicesOf(found.warpSet, soonInactive);
    return { signingSubnetID, ...found, avoided };
  }

  /** Finds the set at the given height, else at that of the destination's epoch, else at the proposed height. */
  async #findSet(
    { pChainHeight: pinned, destination }: HeightChoice,
    subnetID: SubnetID,
    signal: AbortSignal,
  ): Promise<Pick<SignersAtHeight, 'pChainHeight' | 'warpSet'> & WithEpoch> {
    const { validatorSets } = this.#options;
    const isPinned = pinned !== 0n;
    const reading = destination && (await this.#readEpoch(destination, isPinned, signal));
    const epoch = reading && begunEpoch(reading);
    const isForEpoch = !isPinned && destination?.isWarnedOf !== true;
    let setInEpoch: WarpSet | undefined;
    if (epoch !== undefined && isForEpoch) {
      // If the request did not name the destination, the set at the proposed height will do.
      setInEpoch = destination?.isRequired
        ? await validatorSets.at(subnetID, epoch.pChainHeight, signal)
        : await this.#readSetOptionally(subnetID, epoch.pChainHeight, signal);
      if (setInEpoch !== undefined && setInEpoch.totalWeight > 0n) {
        const { pChainHeight } = epoch;
        return { pChainHeight, warpSet: setInEpoch, epoch: { kind: 'read', epoch, setInEpoch } };
      }
      // The epoch began before the signing subnet had validators, for example right after a conversion, so no message can be
      // verified in it. A message signed at the proposed height will be valid in the next epoch.
      if (destination?.isRequired) throw withoutValidatorsInEpoch(destination, subnetID, epoch);
    }
    const { height: pChainHeight, set: warpSet } = isPinned
      ? { height: pinned, set: await validatorSets.atPinned(subnetID, pinned, signal) }
      : await validatorSets.atProposed(subnetID, signal);
    if (warpSet.totalWeight === 0n) throw await this.#withoutValidators(subnetID, pChainHeight, isPinned, signal);
    if (reading === undefined) {
      return { pChainHeight, warpSet, epoch: { kind: destination === undefined ? 'not_asked' : 'unreadable' } };
    }
    if (epoch !== undefined && !isForEpoch) {
      const isSame = epoch.pChainHeight === pChainHeight;
      setInEpoch = isSame ? warpSet : await this.#readSetOptionally(subnetID, epoch.pChainHeight, signal);
    }
    return { pChainHeight, warpSet, epoch: { kind: 'read', epoch, setInEpoch } };
  }

  /** Reads a set that only a warning needs. */
  #readSetOptionally(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<WarpSet | undefined> {
    return askOptionally(this.#optionalPatience, signal, async (until) => {
      try {
        return await this.#options.validatorSets.at(subnetID, height, until);
      } catch (error) {
        if (error instanceof HeightNotReached) return undefined;
        throw error;
      }
    });
  }

  /** Undefined if it cannot be read, and the request can do without. */
  async #readEpoch(
    { chainID, isRequired }: Destination,
    isPinned: boolean,
    signal: AbortSignal,
  ): Promise<Epoch | undefined> {
    if (!isRequired || isPinned) return await this.#readEpochOptionally(chainID, signal);
    try {
      return await this.#options.epochs.get(chainID, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ApiError) || error.code === 'unavailable') throw error;
      throw new AggregatorError(
        'invalid_request',
        `the configured API cannot say in which epoch blockchain ${chainID} is (${error.message}); give the P-Chain height instead`,
        { field: 'destinationChainID', cause: error },
      );
    }
  }

  /** Reads an epoch that a request can do without. One that could not be read is not waited for again for some seconds. */
  async #readEpochOptionally(chainID: BlockchainID, signal: AbortSignal): Promise<Epoch | undefined> {
    const { clock, epochs } = this.#options;
    const known = epochs.peek(chainID);
    if (known !== undefined || clock.monotonicMs() < (this.#unreadableUntilMs.get(chainID) ?? 0)) return known;
    const epoch = await askOptionally(this.#optionalPatience, signal, (until) => epochs.get(chainID, until));
    if (epoch === undefined) this.#unreadableUntilMs.set(chainID, clock.monotonicMs() + UNREADABLE_MS);
    return epoch;
  }

  #withoutSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<AggregatorError> {
    const { directory, clock } = this.#options;
    return unknownSubnet(directory, { subnetID, field: 'signingSubnetID' }, clock, signal);
  }

  async #withoutValidators(
    subnetID: SubnetID,
    height: bigint,
    isPinned: boolean,
    signal: AbortSignal,
  ): Promise<AggregatorError> {
    const field = 'signingSubnetID';
    const subnet = await this.#options.directory.getSubnet(subnetID, signal);
    if (subnet === undefined) return await this.#withoutSubnet(subnetID, signal);
    if (!isPinned && subnet.conversionID !== undefined) {
      return new AggregatorError(
        'no_validators_yet',
        `L1 ${subnetID} has no validators at P-Chain height ${height}: that is the height proposed now, and the L1 was converted ` +
          'after it; try again in a moment',
        { field },
      );
    }
    return new AggregatorError('invalid_request', `subnet ${subnetID} has no validators at P-Chain height ${height}`, {
      field,
    });
  }
}

/** Returns the canonical indices of validators whose NodeIDs are all in the set. */
export function indicesOf({ validators }: WarpSet, nodeIDs: ReadonlySet<NodeID>): ReadonlySet<number> {
  if (nodeIDs.size === 0) return NOBODY;
  const all = validators.filter((validator) => validator.nodeIDs.every((nodeID) => nodeIDs.has(nodeID)));
  return new Set(all.map(({ index }) => index));
}

function withoutValidatorsInEpoch(
  { chainID }: Destination,
  subnetID: SubnetID,
  { pChainHeight, number, startTime }: Epoch,
): AggregatorError {
  const began = new Date(Number(startTime) * 1_000).toISOString();
  return new AggregatorError(
    'no_validators_yet',
    `the epoch ${number} of blockchain ${chainID}, which began at ${began}, has P-Chain height ${pChainHeight}, at which subnet ` +
      `${subnetID} has no validators; the next epoch needs two blocks of that chain, the first of them after the epoch's minimum ` +
      'time (5 minutes on the public networks): a chain without transactions makes none',
    { field: 'destinationChainID' },
  );
}

function isNotServed(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'height_not_served';
}

/** Describes why there is no set at the height, by the field that chose it; returns other errors as they are. */
function describeHeight(cause: unknown, { pChainHeight: pinned, destination }: HeightChoice): unknown {
  if (cause instanceof HeightNotReached) {
    return pinned === 0n
      ? new AggregatorError('p_chain_unavailable', `a P-Chain API node lags behind: ${cause.message}`, { cause })
      : new AggregatorError('height_not_reached', cause.message, { field: 'pChainHeight', cause });
  }
  if (!isNotServed(cause)) return cause;
  const field = pinned === 0n ? destination && 'destinationChainID' : 'pChainHeight';
  return new AggregatorError('height_not_served', cause.message, { field, cause });
}
