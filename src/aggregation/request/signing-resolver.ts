import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { EpochHeights } from '../../pchain/state/epoch-heights.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { ValidatorFunds } from '../../pchain/state/validator-funds.ts';
import { HeightNotReached, type ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { asPChainFailure } from '../p-chain-failure.ts';
import type { AggregationRequest } from './aggregation-request.ts';
import type { CompleteRequest, Destination } from './complete-request.ts';

export interface SigningResolverOptions {
  readonly networkID: number;
  readonly directory: SubnetDirectory;
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly epochs: EpochHeights;
  readonly funds: Pick<ValidatorFunds, 'soonInactive' | 'knownSoonInactive'>;
  readonly clock: Clock;
  /** Time for all questions to the P-Chain API that one request has. */
  readonly resolveTimeoutMs: number;
}

/** Finds out from the P-Chain who must sign a request's message, and at which height. */
export interface SigningResolver {
  /** The subnet whose validators will have to sign, where neither it nor the message's chain has to be looked up. */
  knownSigningSubnet(request: AggregationRequest): SubnetID | undefined;
  /** As {@link resolve}, where nobody has to be asked for anything of it; undefined where somebody has to. */
  known(request: CompleteRequest): Signing | undefined;
  /**
   * @param onSubnet called as soon as it is known whose validators have to sign, before anything else is asked about them; what
   *   it throws ends the work
   * @throws {AggregatorError}, or the signal's reason
   */
  resolve(request: CompleteRequest, signal: AbortSignal, onSubnet?: (subnetID: SubnetID) => void): Promise<Signing>;
  /**
   * The validators of a subnet, as if they had to sign a message.
   *
   * @throws {AggregatorError}, or the signal's reason
   */
  signersOf(subnetID: SubnetID, at: HeightChoice, signal: AbortSignal): Promise<SignersAtHeight>;
  /** As {@link resolve}, after signing: where the P-Chain cannot be asked again, what was found before stands. */
  resolveAgain(request: CompleteRequest, before: Signing, signal: AbortSignal): Promise<Signing>;
}

export interface Signing extends SignersAtHeight {
  /** The subnet of the message's source chain. */
  readonly sourceSubnetID: SubnetID;
}

/** What decides at which height validators are looked for. */
export type HeightChoice = Pick<CompleteRequest, 'pChainHeight' | 'destination'>;

interface SetAtHeight {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly warpSet: WarpSet;
}

/** Who must sign, and whose bits mean whom. */
export interface SignersAtHeight extends SetAtHeight {
  /** Canonical indices of validators that sign only what has no quorum without them. */
  readonly avoided: ReadonlySet<number>;
}

const NOBODY: ReadonlySet<number> = new Set();
const NO_NODES: ReadonlySet<NodeID> = new Set();
/** Time for a question whose answer makes the result better, but is not needed for one. */
const OPTIONAL_QUESTION_MS = 1_500;
/**
 * After it the height is asked for beside the lookup of the subnet. Where the first base URL hangs, their two clients find that out side
 * by side: one after the other would leave the second URL no time. Whether the height can be had counts when it is needed.
 */
const LONG_LOOKUP_MS = 100;

/** Canonical indices of the validators all of whose nodes are among these. */
function indicesOf({ validators }: WarpSet, nodeIDs: ReadonlySet<NodeID>): ReadonlySet<number> {
  if (nodeIDs.size === 0) return NOBODY;
  const all = validators.filter((validator) => validator.nodeIDs.every((nodeID) => nodeIDs.has(nodeID)));
  return new Set(all.map(({ index }) => index));
}

export function createSigningResolver(options: SigningResolverOptions): SigningResolver {
  return new PChainSigningResolver(options);
}

class PChainSigningResolver implements SigningResolver {
  readonly #options: SigningResolverOptions;

  constructor(options: SigningResolverOptions) {
    this.#options = options;
  }

  knownSigningSubnet({ subject, signingSubnetID }: AggregationRequest): SubnetID | undefined {
    const { directory } = this.#options;
    if (subject.kind !== 'message') return undefined;
    const source = directory.knownSubnetOf(subject.message.sourceChainID);
    if (source === undefined || signingSubnetID === undefined) return source;
    return directory.isKnown(signingSubnetID) ? signingSubnetID : undefined;
  }

  known({ message, signingSubnetID: given, pChainHeight: pinned, destination }: CompleteRequest): Signing | undefined {
    const { networkID, directory, validatorSets, funds } = this.#options;
    if (message.networkID !== networkID || destination !== undefined) return undefined;
    const sourceSubnetID = directory.knownSubnetOf(message.sourceChainID);
    const signingSubnetID = given ?? sourceSubnetID;
    if (sourceSubnetID === undefined || signingSubnetID === undefined || !directory.isKnown(signingSubnetID)) {
      return undefined;
    }
    const pChainHeight = pinned === 0n ? validatorSets.knownProposedHeight() : pinned;
    if (pChainHeight === undefined) return undefined;
    const warpSet = validatorSets.known(signingSubnetID, pChainHeight);
    if (warpSet === undefined || warpSet.totalWeight === 0n) return undefined;
    const soonInactive = funds.knownSoonInactive(signingSubnetID, warpSet);
    if (soonInactive === undefined) return undefined;
    return { sourceSubnetID, signingSubnetID, pChainHeight, warpSet, avoided: indicesOf(warpSet, soonInactive) };
  }

  async resolve(
    request: CompleteRequest,
    parent: AbortSignal,
    onSubnet?: (subnetID: SubnetID) => void,
  ): Promise<Signing> {
    const { networkID, directory, validatorSets, clock, resolveTimeoutMs } = this.#options;
    if (request.message.networkID !== networkID) {
      throw new AggregatorError(
        'wrong_network',
        `its network ID is ${request.message.networkID}, but this network has the ID ${networkID}`,
        { field: 'message' },
      );
    }
    using deadline = startDeadline(clock, resolveTimeoutMs, 'asking the P-Chain API', parent);
    const { signal } = deadline;
    const cancelAhead =
      request.pChainHeight === 0n
        ? clock.after(LONG_LOOKUP_MS, () => void validatorSets.proposedHeight(signal).catch(() => undefined))
        : undefined;
    try {
      const sourceSubnetID = await directory.validatedBy(request.message.sourceChainID, signal);
      if (sourceSubnetID === undefined) {
        throw new AggregatorError(
          'unknown_source_chain',
          `the P-Chain does not know its source chain ${request.message.sourceChainID}`,
          { field: 'message' },
        );
      }
      const signingSubnetID = request.signingSubnetID ?? sourceSubnetID;
      // Before its validators are asked for: anybody can make up an ID, and the node has an empty set for each.
      if (!(await directory.exists(signingSubnetID, signal))) throw unknownSubnet(signingSubnetID);
      onSubnet?.(signingSubnetID);
      return { ...(await this.#chooseSigners(request, signingSubnetID, signal)), sourceSubnetID };
    } catch (error) {
      parent.throwIfAborted();
      throw fromApi(error, request, signal);
    } finally {
      cancelAhead?.();
    }
  }

  async signersOf(subnetID: SubnetID, at: HeightChoice, parent: AbortSignal): Promise<SignersAtHeight> {
    const { directory, clock, resolveTimeoutMs } = this.#options;
    using deadline = startDeadline(clock, resolveTimeoutMs, 'asking the P-Chain API', parent);
    const { signal } = deadline;
    try {
      if (!(await directory.exists(subnetID, signal))) throw unknownSubnet(subnetID);
      return await this.#chooseSigners(at, subnetID, signal);
    } catch (error) {
      parent.throwIfAborted();
      throw fromApi(error, at, signal);
    }
  }

  async #chooseSigners(at: HeightChoice, signingSubnetID: SubnetID, signal: AbortSignal): Promise<SignersAtHeight> {
    const found = await this.#chooseHeight(at, signingSubnetID, signal);
    const soonInactive = await this.#findSoonInactive(signingSubnetID, found.warpSet, signal);
    return { ...found, avoided: indicesOf(found.warpSet, soonInactive) };
  }

  async #chooseHeight(
    { pChainHeight, destination }: HeightChoice,
    signingSubnetID: SubnetID,
    signal: AbortSignal,
  ): Promise<SetAtHeight> {
    const { validatorSets } = this.#options;
    const isPinned = pChainHeight !== 0n;
    if (isPinned) return this.#signingAt(signingSubnetID, pChainHeight, isPinned, signal);
    if (destination !== undefined) {
      const signing = await this.#signingInEpoch(signingSubnetID, destination, signal);
      if (signing !== undefined) return signing;
    }
    const height = await validatorSets.proposedHeight(signal);
    return this.#signingAt(signingSubnetID, height, isPinned, signal);
  }

  async resolveAgain(request: CompleteRequest, before: Signing, signal: AbortSignal): Promise<Signing> {
    try {
      return await this.resolve(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AggregatorError) return before;
      throw error;
    }
  }

  async #signingAt(
    signingSubnetID: SubnetID,
    pChainHeight: bigint,
    isPinned: boolean,
    signal: AbortSignal,
  ): Promise<SetAtHeight> {
    const { validatorSets } = this.#options;
    const warpSet = isPinned
      ? await validatorSets.atPinned(signingSubnetID, pChainHeight, signal)
      : await validatorSets.at(signingSubnetID, pChainHeight, signal);
    if (warpSet.totalWeight === 0n)
      throw await this.#withoutValidators(signingSubnetID, pChainHeight, isPinned, signal);
    return { signingSubnetID, pChainHeight, warpSet };
  }

  /** Undefined where the proposed height is to be used. */
  async #signingInEpoch(
    signingSubnetID: SubnetID,
    destination: Destination,
    signal: AbortSignal,
  ): Promise<SetAtHeight | undefined> {
    const { validatorSets } = this.#options;
    const height = await this.#epochHeight(destination, signal);
    if (height === undefined) return undefined;
    const warpSet = await validatorSets.at(signingSubnetID, height, signal);
    if (warpSet.totalWeight > 0n) return { signingSubnetID, pChainHeight: height, warpSet };
    // The epoch began before the signing subnet had any validators, as right after a conversion: no message can pass in it.
    // At the proposed height there are some, and a message signed there will do once an epoch begins that has them.
    if (!destination.isRequired) return undefined;
    throw new AggregatorError(
      'no_validators_yet',
      `the epoch of blockchain ${destination.chainID} is of P-Chain height ${height}, at which subnet ${signingSubnetID} has no ` +
        'validators; try again when its next epoch has begun',
      { field: 'destinationChainID' },
    );
  }

  async #epochHeight({ chainID, isRequired }: Destination, signal: AbortSignal): Promise<bigint | undefined> {
    const { directory, epochs, clock, resolveTimeoutMs } = this.#options;
    if (isRequired && (await directory.validatedBy(chainID, signal)) === undefined) {
      throw new AggregatorError('invalid_request', `the P-Chain knows no blockchain ${chainID}`, {
        field: 'destinationChainID',
      });
    }
    const timeoutMs = isRequired ? resolveTimeoutMs : OPTIONAL_QUESTION_MS;
    using deadline = startDeadline(clock, timeoutMs, "asking for the destination's epoch", signal);
    try {
      return await epochs.heightOf(chainID, deadline.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isRequired && (error instanceof ApiError || deadline.signal.aborted)) return undefined;
      if (!(error instanceof ApiError) || error.kind === 'unavailable') throw error;
      throw new AggregatorError(
        'invalid_request',
        `the configured API cannot say in which epoch blockchain ${chainID} is (${error.message}); give the P-Chain height instead`,
        { field: 'destinationChainID', cause: error },
      );
    }
  }

  /** Validators that may no longer be in the set when the message arrives. */
  async #findSoonInactive(subnetID: SubnetID, warpSet: WarpSet, signal: AbortSignal): Promise<ReadonlySet<NodeID>> {
    const { funds, clock } = this.#options;
    using deadline = startDeadline(clock, OPTIONAL_QUESTION_MS, 'asking for balances', signal);
    try {
      return await funds.soonInactive(subnetID, warpSet, deadline.signal);
    } catch (error) {
      signal.throwIfAborted();
      // Where balances are not known, nobody is avoided.
      if (error instanceof ApiError || deadline.signal.aborted) return NO_NODES;
      throw error;
    }
  }

  async #withoutValidators(
    subnetID: SubnetID,
    height: bigint,
    isPinned: boolean,
    signal: AbortSignal,
  ): Promise<AggregatorError> {
    const { directory } = this.#options;
    const field = 'signingSubnetID';
    const subnet = await directory.getSubnet(subnetID, signal);
    if (subnet === undefined) return unknownSubnet(subnetID);
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

function unknownSubnet(subnetID: SubnetID): AggregatorError {
  return new AggregatorError('unknown_subnet', `the P-Chain knows no subnet ${subnetID}`, { field: 'signingSubnetID' });
}

function fromApi(error: unknown, request: HeightChoice, signal: AbortSignal): unknown {
  if (error instanceof HeightNotReached) {
    if (request.pChainHeight === 0n) {
      return new AggregatorError('p_chain_unavailable', `a P-Chain API node lags behind: ${error.message}`, {
        cause: error,
      });
    }
    return new AggregatorError('height_not_reached', error.message, { field: 'pChainHeight', cause: error });
  }
  return asPChainFailure(error, signal);
}
