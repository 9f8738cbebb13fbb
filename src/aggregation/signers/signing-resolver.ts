import type { Clock } from '../../lib/concurrency/clock.ts';
import { begunEpoch, type Epochs } from '../../pchain/state/epochs.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { ValidatorFunds } from '../../pchain/state/validator-funds.ts';
import type { ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { askPChain } from '../ask-p-chain.ts';
import { requireSum } from '../request/aggregation-request.ts';
import { resultKey } from '../request/result-key.ts';
import { unknownBlockchain } from '../unknown-blockchain.ts';
import type { DeliveryTarget } from './delivery-warnings.ts';
import type { DestinationFacts, Destinations } from './destination-facts.ts';
import { type HeightChoice, indicesOf, SignersReader } from './signers-at-height.ts';
import type { SignersAtHeight, SigningPlan } from './signing-plan.ts';
import type { Destination, SigningQuestion } from './signing-question.ts';
import { chooseSigners, signersFor } from './signing-rule.ts';

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

/** Finds the validator set that must sign a message, and its height. Methods with a signal throw `AggregatorError`, or the signal's reason. */
export interface SigningResolver {
  /** Returns the signing subnet, if no lookup is needed. */
  knownSigningSubnet(question: SigningQuestion): SubnetID | undefined;
  /** Whether the P-Chain is known to have the destination, if the question has one. */
  isDestinationKnown(question: SigningQuestion): boolean;
  /** Resolves from caches only; undefined if that is not possible. */
  known(question: SigningQuestion): SigningPlan | undefined;
  /** Returns what is cached about a destination that a request does not name; undefined if its rule is not cached. */
  knownTarget(chainID: BlockchainID, signingSubnetID: SubnetID): DeliveryTarget | undefined;
  /** @param onSubnet called before the validators are read; an error that it throws is passed on */
  resolve(
    question: SigningQuestion,
    signal: AbortSignal,
    onSubnet?: (subnetID: SubnetID) => void,
  ): Promise<SigningPlan>;
  /** Resolves again after signing; returns `before` if the P-Chain API fails. */
  resolveAgain(before: SigningPlan, signal: AbortSignal): Promise<SigningPlan>;
  /** Returns the validators of a subnet that would have to sign. */
  signersOf(subnetID: SubnetID, at: HeightChoice, signal: AbortSignal): Promise<SignersAtHeight>;
}

/**
 * Delay after which the height is read beside the lookup of the subnet. If the first base URL hangs, both calls find out at the
 * same time, and the second URL still has time.
 */
const LONG_LOOKUP_MS = 100;

export function createSigningResolver(options: SigningResolverOptions): SigningResolver {
  return new NetworkSigningResolver(options);
}

class NetworkSigningResolver implements SigningResolver {
  readonly #options: SigningResolverOptions;
  readonly #signers: SignersReader;

  constructor(options: SigningResolverOptions) {
    this.#options = options;
    this.#signers = new SignersReader(options);
  }

  knownSigningSubnet({ message, signingSubnetID, destination }: SigningQuestion): SubnetID | undefined {
    const { directory, destinations } = this.#options;
    const { sourceChainID } = message;
    const source = directory.knownSubnetOf(sourceChainID);
    if (source === undefined) return undefined;
    if (signingSubnetID !== undefined) return directory.isKnown(signingSubnetID) ? signingSubnetID : undefined;
    // Messages of an L1 are signed by that L1 whatever their destination.
    if (destination === undefined || source !== PRIMARY_NETWORK_ID) return source;
    const facts = destinations.known(destination.chainID);
    return facts && signersFor({ sourceChainID, sourceSubnetID: source }, facts)?.signingSubnetID;
  }

  isDestinationKnown({ destination }: SigningQuestion): boolean {
    return destination === undefined || this.#options.directory.knownSubnetOf(destination.chainID) !== undefined;
  }

  known(question: SigningQuestion): SigningPlan | undefined {
    const { networkID, directory, validatorSets, funds } = this.#options;
    const { message, signingSubnetID: given, pChainHeight: pinned, destination } = question;
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
    const chosen = chooseSigners({ sourceChainID: message.sourceChainID, sourceSubnetID }, question, undefined);
    const avoided = indicesOf(warpSet, soonInactive);
    return planOf(question, { ...chosen, sourceSubnetID, pChainHeight, warpSet, avoided, target: undefined });
  }

  knownTarget(chainID: BlockchainID, signingSubnetID: SubnetID): DeliveryTarget | undefined {
    const { destinations, epochs, validatorSets } = this.#options;
    const facts = destinations.known(chainID);
    if (facts === undefined) return undefined;
    const reading = epochs.peek(chainID);
    const epoch = reading && begunEpoch(reading);
    const setInEpoch = epoch && validatorSets.known(signingSubnetID, epoch.pChainHeight);
    const isComparable = setInEpoch !== undefined;
    return { facts, epoch: isComparable ? { kind: 'read', epoch, setInEpoch } : { kind: 'not_asked' } };
  }

  async resolve(
    question: SigningQuestion,
    parent: AbortSignal,
    onSubnet?: (subnetID: SubnetID) => void,
  ): Promise<SigningPlan> {
    this.#requireNetwork(question);
    return await this.#ask(parent, async (signal) => {
      using _ahead = this.#readHeightAhead(question, signal);
      const { chosen, sourceSubnetID, facts } = await this.#chooseSigners(question, signal);
      const { signingSubnetID, quorumNum } = chosen;
      requireSum(quorumNum, question.quorumBuffer);
      // Checked before the validators are read: clients can invent IDs, and the node returns an empty set for them.
      await this.#signers.requireSubnet(signingSubnetID, signal);
      onSubnet?.(signingSubnetID);
      const known = { ...question, destination: facts && question.destination };
      const { epoch, ...signers } = await this.#signers.read(known, signingSubnetID, signal);
      return planOf(question, { ...signers, ...chosen, sourceSubnetID, target: facts && { facts, epoch } });
    });
  }

  async resolveAgain(before: SigningPlan, signal: AbortSignal): Promise<SigningPlan> {
    try {
      return await this.resolve(before.question, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AggregatorError) return before;
      throw error;
    }
  }

  async signersOf(subnetID: SubnetID, at: HeightChoice, parent: AbortSignal): Promise<SignersAtHeight> {
    return await this.#ask(parent, async (signal) => {
      await this.#signers.requireSubnet(subnetID, signal);
      const { destination } = at;
      if (
        destination?.isRequired &&
        (await this.#options.directory.validatedBy(destination.chainID, signal)) === undefined
      ) {
        const { directory, clock } = this.#options;
        throw await unknownBlockchain(directory, destination.chainID, clock, signal);
      }
      return await this.#signers.read(at, subnetID, signal);
    });
  }

  #ask<Answer>(parent: AbortSignal, question: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
    const { clock, resolveTimeoutMs: timeoutMs } = this.#options;
    return askPChain({ clock, timeoutMs }, parent, question);
  }

  #requireNetwork({ message }: SigningQuestion): void {
    const { networkID } = this.#options;
    if (message.networkID === networkID) return;
    throw new AggregatorError(
      'wrong_network',
      `its network ID is ${message.networkID}, but this network has the ID ${networkID}`,
      { field: 'message' },
    );
  }

  /** Reads the proposed height during a long lookup of the subnet, until it is disposed. */
  #readHeightAhead({ pChainHeight }: SigningQuestion, signal: AbortSignal): Disposable | undefined {
    if (pChainHeight !== 0n) return undefined;
    const { clock, validatorSets } = this.#options;
    const read = (): void => void validatorSets.proposedHeight(signal).catch(() => undefined);
    return { [Symbol.dispose]: clock.after(LONG_LOOKUP_MS, read) };
  }

  /** Chooses subnet and quorum by the subnet of the source chain and by what the destination demands. */
  async #chooseSigners(question: SigningQuestion, signal: AbortSignal) {
    const { sourceChainID } = question.message;
    const sourceSubnetID = await this.#options.directory.validatedBy(sourceChainID, signal);
    if (sourceSubnetID === undefined) {
      throw new AggregatorError('unknown_source_chain', `the P-Chain does not know its source chain ${sourceChainID}`, {
        field: 'message',
      });
    }
    const facts = question.destination && (await this.#findDestination(question.destination, signal));
    return { chosen: chooseSigners({ sourceChainID, sourceSubnetID }, question, facts), sourceSubnetID, facts };
  }

  /** @throws {AggregatorError} if the client names a blockchain that does not exist */
  async #findDestination(
    { chainID, isRequired }: Destination,
    signal: AbortSignal,
  ): Promise<DestinationFacts | undefined> {
    const facts = await this.#options.destinations.find(chainID, signal);
    if (facts !== undefined || !isRequired) return facts;
    const { directory, clock } = this.#options;
    throw await unknownBlockchain(directory, chainID, clock, signal);
  }
}

function planOf(
  question: SigningQuestion,
  chosen: Omit<SigningPlan, 'key' | 'message' | 'justification' | 'quorumBuffer' | 'question'>,
): SigningPlan {
  const { message, justification, quorumBuffer } = question;
  const key = resultKey({ ...chosen, message, justification, quorumBuffer });
  return { ...chosen, key, message, justification, quorumBuffer, question };
}
