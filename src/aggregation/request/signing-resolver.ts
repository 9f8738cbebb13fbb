import type { Clock } from '../../lib/concurrency/clock.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { Epoch } from '../../pchain/rpc/chain-api.ts';
import { begunEpoch, type Epochs } from '../../pchain/state/epochs.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { ValidatorFunds } from '../../pchain/state/validator-funds.ts';
import { HeightNotReached, type ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { type BlockchainID, type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { askOptionally, askPChain } from '../ask-p-chain.ts';
import { chooseSigners, type SignersChoice } from '../destinations/choose-signers.ts';
import type { DeliveryTarget, EpochReading } from '../destinations/delivery-warnings.ts';
import type { DestinationFacts, Destinations } from '../destinations/destination-facts.ts';
import { signersFor } from '../destinations/signing-rule.ts';
import { unknownSubnet } from '../unknown-subnet.ts';
import { type AggregationRequest, requireSum } from './aggregation-request.ts';
import { type CompleteRequest, type Destination, destinationOf } from './complete-request.ts';

export interface SigningResolverOptions {
  readonly networkID: number;
  readonly directory: SubnetDirectory;
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly destinations: Destinations;
  readonly epochs: Pick<Epochs, 'get' | 'peek'>;
  readonly funds: Pick<ValidatorFunds, 'soonInactive' | 'knownSoonInactive'>;
  readonly clock: Clock;
  readonly resolveTimeoutMs: number;
}

export interface Signing extends SignersAtHeight, SignersChoice {
  readonly sourceSubnetID: SubnetID;
  /** Undefined without a destination, and for one that the P-Chain does not know. */
  readonly target: DeliveryTarget | undefined;
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
  const { networkID, directory, destinations, validatorSets, epochs, funds, clock } = options;
  const patience = { clock, timeoutMs: options.resolveTimeoutMs };
  const optionalPatience = { clock, timeoutMs: OPTIONAL_QUESTION_MS };

  /** The signing subnet, if no lookup is needed. */
  function knownSigningSubnet(request: AggregationRequest): SubnetID | undefined {
    const { subject, signingSubnetID } = request;
    if (subject.kind !== 'message') return undefined;
    const { sourceChainID } = subject.message;
    const source = directory.knownSubnetOf(sourceChainID);
    if (source === undefined) return undefined;
    if (signingSubnetID !== undefined) return directory.isKnown(signingSubnetID) ? signingSubnetID : undefined;
    const destination = destinationOf(request, subject.message);
    // Messages of an L1 are signed by that L1 whatever their destination.
    if (destination === undefined || source !== PRIMARY_NETWORK_ID) return source;
    const facts = destinations.known(destination.chainID);
    return facts && signersFor({ sourceChainID, sourceSubnetID: source }, facts)?.signingSubnetID;
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
    const chosen = chooseSigners({ sourceChainID: message.sourceChainID, sourceSubnetID }, request, undefined);
    const avoided = indicesOf(warpSet, soonInactive);
    return { ...chosen, sourceSubnetID, pChainHeight, warpSet, avoided, target: undefined };
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
        const facts = request.destination && (await findDestination(request.destination, signal));
        const { sourceChainID } = request.message;
        const chosen = chooseSigners({ sourceChainID, sourceSubnetID }, request, facts);
        const { signingSubnetID, quorumNum } = chosen;
        requireSum(quorumNum, request.quorumBuffer);
        // Checked before the validators are read: clients can invent IDs, and the node returns an empty set for them.
        if (!(await directory.exists(signingSubnetID, signal))) throw await withoutSubnet(signingSubnetID, signal);
        onSubnet?.(signingSubnetID);
        const known = { ...request, destination: facts && request.destination };
        const { epoch, ...signers } = await chooseSet(known, signingSubnetID, signal);
        return { ...signers, ...chosen, sourceSubnetID, target: facts && { facts, epoch } };
      } finally {
        cancelAhead?.();
      }
    });
  }

  /** The validators of a subnet that would have to sign. */
  async function signersOf(subnetID: SubnetID, at: HeightChoice, parent: AbortSignal): Promise<SignersAtHeight> {
    return await askPChain(patience, parent, async (signal) => {
      if (!(await directory.exists(subnetID, signal))) throw await withoutSubnet(subnetID, signal);
      const { destination } = at;
      if (destination?.isRequired && (await directory.validatedBy(destination.chainID, signal)) === undefined) {
        throw unknownBlockchain(destination);
      }
      return await chooseSet(at, subnetID, signal);
    });
  }

  /** @throws {AggregatorError} if the client names a blockchain that does not exist */
  async function findDestination(
    { chainID, isRequired }: Destination,
    signal: AbortSignal,
  ): Promise<DestinationFacts | undefined> {
    const facts = await destinations.find(chainID, signal);
    if (facts !== undefined || !isRequired) return facts;
    throw unknownBlockchain({ chainID });
  }

  async function chooseSet(
    at: HeightChoice,
    signingSubnetID: SubnetID,
    signal: AbortSignal,
  ): Promise<SignersAtHeight & { readonly epoch: EpochReading }> {
    const found = await findSet(at, signingSubnetID, signal).catch((error: unknown) => {
      throw describeHeight(error, at);
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
  ): Promise<Pick<SignersAtHeight, 'pChainHeight' | 'warpSet'> & { readonly epoch: EpochReading }> {
    const isPinned = pinned !== 0n;
    const reading = destination && (await readEpoch(destination, isPinned, signal));
    const epoch = reading && begunEpoch(reading);
    let setInEpoch: WarpSet | undefined;
    if (epoch !== undefined && !isPinned) {
      setInEpoch = await validatorSets.at(subnetID, epoch.pChainHeight, signal).catch((error: unknown) => {
        // The request did not name the destination, so the set at the proposed height will do.
        if (!isNotServed(error) || destination?.isRequired) throw error;
        return undefined;
      });
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
    if (warpSet.totalWeight === 0n) throw await withoutValidators(subnetID, pChainHeight, isPinned, signal);
    if (reading === undefined) {
      return { pChainHeight, warpSet, epoch: { kind: destination === undefined ? 'not_asked' : 'unreadable' } };
    }
    if (epoch !== undefined && isPinned) {
      const isSame = epoch.pChainHeight === pChainHeight;
      setInEpoch = isSame ? warpSet : await readSetOptionally(subnetID, epoch.pChainHeight, signal);
    }
    return { pChainHeight, warpSet, epoch: { kind: 'read', epoch, setInEpoch } };
  }

  /** Reads a set that only a warning needs. */
  function readSetOptionally(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<WarpSet | undefined> {
    return askOptionally(optionalPatience, signal, async (until) => {
      try {
        return await validatorSets.at(subnetID, height, until);
      } catch (error) {
        if (error instanceof HeightNotReached) return undefined;
        throw error;
      }
    });
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

  /** Undefined if it cannot be read, and the request can do without. */
  async function readEpoch(
    { chainID, isRequired }: Destination,
    isPinned: boolean,
    signal: AbortSignal,
  ): Promise<Epoch | undefined> {
    if (!isRequired || isPinned) {
      return await askOptionally(optionalPatience, signal, (until) => epochs.get(chainID, until));
    }
    try {
      return await epochs.get(chainID, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ApiError) || error.kind === 'unavailable') throw error;
      throw new AggregatorError(
        'invalid_request',
        `the configured API cannot say in which epoch blockchain ${chainID} is (${error.message}); give the P-Chain height instead`,
        { field: 'destinationChainID', cause: error },
      );
    }
  }

  function withoutSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<AggregatorError> {
    return unknownSubnet(directory, { subnetID, field: 'signingSubnetID' }, clock, signal);
  }

  /** Returns what is cached about a destination that a request does not name; undefined if its rule is not cached. */
  function knownTarget(chainID: BlockchainID, signingSubnetID: SubnetID): DeliveryTarget | undefined {
    const facts = destinations.known(chainID);
    if (facts === undefined) return undefined;
    const reading = epochs.peek(chainID);
    const epoch = reading && begunEpoch(reading);
    const setInEpoch = epoch && validatorSets.known(signingSubnetID, epoch.pChainHeight);
    const isComparable = setInEpoch !== undefined;
    return { facts, epoch: isComparable ? { kind: 'read', epoch, setInEpoch } : { kind: 'not_asked' } };
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

  return { knownSigningSubnet, known, knownTarget, resolve, signersOf, resolveAgain };
}

function unknownBlockchain({ chainID }: Pick<Destination, 'chainID'>): AggregatorError {
  const field = 'destinationChainID';
  return new AggregatorError('invalid_request', `the P-Chain knows no blockchain ${chainID}`, { field });
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
  return error instanceof ApiError && error.kind === 'height_not_served';
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
