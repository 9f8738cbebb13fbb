import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Epoch } from '../../pchain/rpc/chain-api.ts';
import { begunEpoch, type Epochs } from '../../pchain/state/epochs.ts';
import { HeightNotReached, type ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import { type BlockchainID, idFromBytes, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { createLookupLimit, type LookupMetrics } from '../admission/lookup-limit.ts';
import type { Penalties } from '../admission/penalties.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { askOptionally, askPChain } from '../ask-p-chain.ts';
import type { DestinationFacts, Destinations } from './destination-facts.ts';
import { quorumOf, type RuledSigners, signersFor } from './signing-rule.ts';

/** What a destination demands of a message, before it is sent. */
export interface DestinationView {
  readonly facts: DestinationFacts;
  readonly quorumNum: bigint;
  /** Undefined for a chain without epochs. */
  readonly epoch: Epoch | undefined;
  readonly isEpochReadable: boolean;
  readonly proposedHeight: bigint;
  readonly signers: readonly SignersOfSources[];
}

export interface SignersOfSources {
  readonly sources: SourceKind;
  /** Undefined if the destination's configuration decides and cannot be read. */
  readonly rule: RuledSigners['rule'] | undefined;
  /** Undefined if it is another one for each source, or not known. */
  readonly signingSubnetID: SubnetID | undefined;
  /** Whether its validators at the proposed height differ from those of the epoch; undefined if they cannot be compared. */
  readonly differs: boolean | undefined;
}

export const SOURCE_KINDS = ['p_chain', 'c_and_x_chain', 'other_chains'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

export interface DestinationViewsOptions {
  readonly destinations: Destinations;
  readonly epochs: Pick<Epochs, 'get'>;
  readonly validatorSets: Pick<ValidatorSets<WarpSet>, 'at' | 'atProposed'>;
  readonly penalties: Penalties;
  readonly metrics: LookupMetrics;
  readonly clock: Clock;
  readonly resolveTimeoutMs: number;
}

/** Each makes up to seven calls of APIs, most of which are cached. */
const MAX_AT_WORK = 32;
const OPTIONAL_QUESTION_MS = 1_500;
/** Stands for any chain of the primary network other than the P-Chain. */
const ANOTHER_CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(0xff), 'blockchain ID');

/** What a destination demands of a message now: signers, quorum, epoch. */
export interface DestinationViews {
  /** @throws {AggregatorError}, or the signal's reason */
  view(chainID: BlockchainID, signal: AbortSignal, client?: string): Promise<DestinationView>;
}

export function createDestinationViews(options: DestinationViewsOptions): DestinationViews {
  const { destinations, epochs, validatorSets, penalties, clock } = options;
  const optionalPatience = { clock, timeoutMs: OPTIONAL_QUESTION_MS };
  const running = createLookupLimit({ ...options, kind: 'destination', limit: MAX_AT_WORK });

  /** Undefined if the epoch's set cannot be read, as behind an API that serves only the current height. */
  async function differsInEpoch(
    subnetID: SubnetID,
    proposed: WarpSet,
    epoch: Epoch | undefined,
    signal: AbortSignal,
  ): Promise<boolean | undefined> {
    if (epoch === undefined) return undefined;
    const inEpoch = await askOptionally(optionalPatience, signal, async (until) => {
      try {
        return await validatorSets.at(subnetID, epoch.pChainHeight, until);
      } catch (error) {
        if (error instanceof HeightNotReached) return undefined;
        throw error;
      }
    });
    return inEpoch && warpSetHash(inEpoch) !== warpSetHash(proposed);
  }

  async function find(chainID: BlockchainID, signal: AbortSignal): Promise<DestinationView> {
    const facts = await destinations.find(chainID, signal);
    if (facts === undefined) {
      const text = `the P-Chain knows no blockchain ${chainID}`;
      throw new AggregatorError('unknown_blockchain', text, { field: 'blockchainID' });
    }
    const reading = await askOptionally(optionalPatience, signal, (until) => epochs.get(chainID, until));
    const epoch = reading && begunEpoch(reading);
    const { height: proposedHeight } = await validatorSets.atProposed(facts.subnetID, signal);
    const rules = [
      { sources: 'p_chain', ruled: signersFor(ofPrimary(P_CHAIN_ID), facts) },
      { sources: 'c_and_x_chain', ruled: signersFor(ofPrimary(ANOTHER_CHAIN), facts) },
    ] as const;
    const signers: SignersOfSources[] = [];
    for (const { sources, ruled } of rules) {
      const proposed = ruled && (await validatorSets.atProposed(ruled.signingSubnetID, signal));
      const differs = ruled && proposed && (await differsInEpoch(ruled.signingSubnetID, proposed.set, epoch, signal));
      signers.push({ sources, rule: ruled?.rule, signingSubnetID: ruled?.signingSubnetID, differs });
    }
    signers.push({ sources: 'other_chains', rule: 'source_subnet', signingSubnetID: undefined, differs: undefined });
    const isEpochReadable = reading !== undefined;
    return { facts, quorumNum: quorumOf(facts), epoch, isEpochReadable, proposedHeight, signers };
  }

  return {
    async view(chainID: BlockchainID, signal: AbortSignal, client?: string): Promise<DestinationView> {
      using _permit = await running.acquire(client, signal);
      const patience = { clock, timeoutMs: options.resolveTimeoutMs };
      return await penalties.lookUp(client, () => askPChain(patience, signal, (until) => find(chainID, until)));
    },
  };
}

function ofPrimary(sourceChainID: BlockchainID) {
  return { sourceChainID, sourceSubnetID: PRIMARY_NETWORK_ID };
}
