import type { Clock } from '../../lib/concurrency/clock.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { EpochHeights } from '../../pchain/state/epoch-heights.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { ValidatorFunds } from '../../pchain/state/validator-funds.ts';
import { HeightNotReached, type ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { askOptionally, askPChain } from '../ask-p-chain.ts';
import { unknownSubnet } from '../unknown-subnet.ts';
import type { AggregationRequest } from './aggregation-request.ts';
import type { CompleteRequest, Destination } from './complete-request.ts';

export interface SigningResolverOptions {
  readonly networkID: number;
  readonly directory: SubnetDirectory;
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly epochs: Pick<EpochHeights, 'get'>;
  readonly funds: Pick<ValidatorFunds, 'soonInactive' | 'knownSoonInactive'>;
  readonly clock: Clock;
  readonly resolveTimeoutMs: number;
}

export interface Signing extends SignersAtHeight {
  readonly sourceSubnetID: SubnetID;
}

export type HeightChoice = Pick<CompleteRequest, 'pChainHeight' | 'destination'>;

export interface SignersAtHeight {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly warpSet: WarpSet;
  /** Canonical indices of validators that are asked only if the quorum needs them. */
  readonly avoided: ReadonlySet<number>;
}

const NOBODY: ReadonlySet<number> = new Set();
const OPTIONAL_QUESTION_MS = 1_500;
/**
 * Delay after which the height is read beside the lookup of the subnet. If the first base URL hangs, both calls find out at the
 * same time, and the second URL still has time.
 */
const LONG_LOOKUP_MS = 100;

function indicesOf({ validators }: WarpSet, nodeIDs: ReadonlySet<NodeID>): ReadonlySet<number> {
  if (nodeIDs.size === 0) return NOBODY;
  const all = validators.filter((validator) => validator.nodeIDs.every((nodeID) => nodeIDs.has(nodeID)));
  return new Set(all.map(({ index }) => index));
}

export type SigningResolver = ReturnType<typeof createSigningResolver>;

/** Finds the validator set that must sign a message, and its height. All methods throw `AggregatorError`, or the signal's reason. */
export function createSigningResolver(options: SigningResolverOptions) {
  const { networkID, directory, validatorSets, epochs, funds, clock } = options;
  const patience = { clock, timeoutMs: options.resolveTimeoutMs };
  const optionalPatience = { clock, timeoutMs: OPTIONAL_QUESTION_MS };

  /** The signing subnet, if no lookup is needed. */
  function knownSigningSubnet({ subject, signingSubnetID }: AggregationRequest): SubnetID | undefined {
    if (subject.kind !== 'message') return undefined;
    const source = directory.knownSubnetOf(subject.message.sourceChainID);
    if (source === undefined || signingSubnetID === undefined) return source;
    return directory.isKnown(signingSubnetID) ? signingSubnetID : undefined;
  }

  /** Resolves from caches only; undefined if that is not possible. */
  function known(request: CompleteRequest): Signing | undefined {
    const { message, signingSubnetID: given, pChainHeight: pinned, destination } = request;
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

  /** @param onSubnet called before the validators are read; an error that it throws is passed on */
  async function resolve(
    request: CompleteRequest,
    parent: AbortSignal,
    onSubnet?: (subnetID: SubnetID) => void,
  ): Promise<Signing> {
    if (request.message.networkID !== networkID) {
      throw new AggregatorError(
        'wrong_network',
        `its network ID is ${request.message.networkID}, but this network has the ID ${networkID}`,
        { field: 'message' },
      );
    }
    return await askPChain(patience, parent, async (signal) => {
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
        // Checked before the validators are read: clients can invent IDs, and the node returns an empty set for them.
        if (!(await directory.exists(signingSubnetID, signal))) throw await withoutSubnet(signingSubnetID, signal);
        onSubnet?.(signingSubnetID);
        return { ...(await chooseSigners(request, signingSubnetID, signal)), sourceSubnetID };
      } finally {
        cancelAhead?.();
      }
    });
  }

  /** The validators of a subnet that would have to sign. */
  async function signersOf(subnetID: SubnetID, at: HeightChoice, parent: AbortSignal): Promise<SignersAtHeight> {
    return await askPChain(patience, parent, async (signal) => {
      if (!(await directory.exists(subnetID, signal))) throw await withoutSubnet(subnetID, signal);
      return await chooseSigners(at, subnetID, signal);
    });
  }

  async function chooseSigners(
    at: HeightChoice,
    signingSubnetID: SubnetID,
    signal: AbortSignal,
  ): Promise<SignersAtHeight> {
    const found = await findSet(at, signingSubnetID, signal).catch((error: unknown) => {
      throw error instanceof HeightNotReached ? describeLag(error, at) : error;
    });
    const soonInactive = await askOptionally(optionalPatience, signal, (until) =>
      funds.soonInactive(signingSubnetID, found.warpSet, until),
    );
    const avoided = soonInactive === undefined ? NOBODY : indicesOf(found.warpSet, soonInactive);
    return { signingSubnetID, ...found, avoided };
  }

  /** Finds the set at the given height, else at that of the destination's epoch, else at the proposed height. */
  async function findSet(
    { pChainHeight: pinned, destination }: HeightChoice,
    subnetID: SubnetID,
    signal: AbortSignal,
  ): Promise<Pick<SignersAtHeight, 'pChainHeight' | 'warpSet'>> {
    const isPinned = pinned !== 0n;
    const inEpoch = isPinned || destination === undefined ? undefined : await epochHeight(destination, signal);
    if (inEpoch !== undefined) {
      const warpSet = await validatorSets.at(subnetID, inEpoch, signal);
      if (warpSet.totalWeight > 0n) return { pChainHeight: inEpoch, warpSet };
      // The epoch began before the signing subnet had validators, for example right after a conversion, so no message can be
      // verified in it. A message signed at the proposed height will be valid in the next epoch.
      if (destination?.isRequired) throw withoutValidatorsInEpoch(destination, subnetID, inEpoch);
    }
    const pChainHeight = isPinned ? pinned : await validatorSets.proposedHeight(signal);
    const warpSet = isPinned
      ? await validatorSets.atPinned(subnetID, pChainHeight, signal)
      : await validatorSets.at(subnetID, pChainHeight, signal);
    if (warpSet.totalWeight === 0n) throw await withoutValidators(subnetID, pChainHeight, isPinned, signal);
    return { pChainHeight, warpSet };
  }

  /** Resolves again after signing; returns `before` if the P-Chain API fails. */
  async function resolveAgain(request: CompleteRequest, before: Signing, signal: AbortSignal): Promise<Signing> {
    try {
      return await resolve(request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AggregatorError) return before;
      throw error;
    }
  }

  /** Undefined if the proposed height is to be used. */
  async function epochHeight({ chainID, isRequired }: Destination, signal: AbortSignal): Promise<bigint | undefined> {
    if (!isRequired) {
      return await askOptionally(optionalPatience, signal, (until) => epochs.get(chainID, until));
    }
    const field = 'destinationChainID';
    if ((await directory.validatedBy(chainID, signal)) === undefined) {
      throw new AggregatorError('invalid_request', `the P-Chain knows no blockchain ${chainID}`, { field });
    }
    try {
      return await epochs.get(chainID, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ApiError) || error.kind === 'unavailable') throw error;
      throw new AggregatorError(
        'invalid_request',
        `the configured API cannot say in which epoch blockchain ${chainID} is (${error.message}); give the P-Chain height instead`,
        { field, cause: error },
      );
    }
  }

  function withoutSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<AggregatorError> {
    return unknownSubnet(directory, { subnetID, field: 'signingSubnetID' }, clock, signal);
  }

  async function withoutValidators(
    subnetID: SubnetID,
    height: bigint,
    isPinned: boolean,
    signal: AbortSignal,
  ): Promise<AggregatorError> {
    const field = 'signingSubnetID';
    const subnet = await directory.getSubnet(subnetID, signal);
    if (subnet === undefined) return await withoutSubnet(subnetID, signal);
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

  return { knownSigningSubnet, known, resolve, signersOf, resolveAgain };
}

function withoutValidatorsInEpoch({ chainID }: Destination, subnetID: SubnetID, height: bigint): AggregatorError {
  return new AggregatorError(
    'no_validators_yet',
    `the epoch of blockchain ${chainID} has P-Chain height ${height}, at which subnet ${subnetID} has no validators; try again ` +
      'when its next epoch has begun',
    { field: 'destinationChainID' },
  );
}

function describeLag(cause: HeightNotReached, { pChainHeight }: HeightChoice): AggregatorError {
  return pChainHeight === 0n
    ? new AggregatorError('p_chain_unavailable', `a P-Chain API node lags behind: ${cause.message}`, { cause })
    : new AggregatorError('height_not_reached', cause.message, { field: 'pChainHeight', cause });
}
