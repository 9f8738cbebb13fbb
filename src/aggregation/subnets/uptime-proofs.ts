import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { PeerNetwork } from '../../p2p/peer-network.ts';
import { unlessRefused } from '../../pchain/rpc/api-error.ts';
import type { NodeApi } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { quorumWeight } from '../../validators/quorum.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import type { BlockchainID, NodeID, ValidationID } from '../../warp/ids.ts';
import { encodeSignatureRequest } from '../../warp/signature-request.ts';
import { createUptimeMessage } from '../../warp/validator-uptime.ts';
import { overloaded } from '../admission/overloaded.ts';
import type { Penalties } from '../admission/penalties.ts';
import { QueryConcurrency } from '../admission/query-concurrency.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import { askPChain } from '../ask-p-chain.ts';
import { type AggregationRequest, type AggregationResult, settingsOf } from '../request/aggregation-request.ts';
import type { Destinations } from '../signers/destination-facts.ts';
import { destinationOf } from '../signers/signing-question.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import { quorumOf } from '../signers/signing-rule.ts';
import type { Aggregator } from '../stages/aggregator.ts';
import type { Caller } from '../stages/calls.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import type { ValidatorConnections } from '../validators/validator-connections.ts';
import type { AttemptOutcome } from '../validators/validator-outcome.ts';
import { connectValidators } from './subnet-views.ts';
import { planUptimeSearch, type UptimeStanding } from './uptime-search.ts';

export interface UptimeRequest extends Pick<AggregationRequest, 'quorumNum' | 'pChainHeight' | 'destinationChainID'> {
  readonly validationID: ValidationID;
  /** The L1's chain whose nodes observe the validators. Default: the chain of its validator manager, if the L1 validates that. */
  readonly uptimeChainID?: BlockchainID | undefined;
}

export interface UptimeProof extends AggregationResult {
  readonly validationID: ValidationID;
  readonly uptimeChainID: BlockchainID;
  /** In seconds. */
  readonly uptime: bigint;
}

export interface UptimeProofsOptions {
  readonly networkID: number;
  readonly api: Pick<NodeApi, 'getL1Validator'>;
  readonly directory: Pick<SubnetDirectory, 'getSubnet' | 'validatedBy'>;
  readonly subnets: Pick<SubnetPolicy, 'requireAllowed'>;
  readonly destinations: Pick<Destinations, 'find'>;
  readonly resolver: Pick<SigningResolver, 'signersOf'>;
  readonly connections: Pick<ValidatorConnections, 'track' | 'isConnected' | 'requestSignature'>;
  readonly peers: Pick<PeerNetwork, 'describe' | 'waitUntil'>;
  readonly aggregator: Aggregator;
  readonly penalties: Penalties;
  readonly metrics: Pick<AggregatorMetrics, 'admissionRefusals'>;
  readonly clock: Clock;
  readonly resolveTimeoutMs: number;
}

/** Two rounds are usual; some 30 if the nodes do not report their figures. */
const SEARCH_TIMEOUT_MS = 15_000;
/** A node that needs longer is left out of the search. */
const ANSWER_TIMEOUT_MS = 2_000;
/** Each asks a whole set several times. One client gets half. */
const MAX_SEARCHES = 8;
const MAX_QUERIES = 512;
/** Searches repeated without nodes that gave an invalid signature. */
const MAX_REPAIRS = 3;

/** Signed uptimes of L1 validators. */
export interface UptimeProofs {
  /** Returns the signed `ValidatorUptime` message. Equal concurrent requests share one search. */
  prove(request: UptimeRequest, caller: Pick<Caller, 'signal' | 'client'>): Promise<UptimeProof>;
}

/** Finds the highest uptime of an L1 validator that a quorum of the L1 signs: each node has observed another figure. */
export function createUptimeProofs(options: UptimeProofsOptions): UptimeProofs {
  const { networkID, api, directory, destinations, subnets, resolver, connections, aggregator, penalties, clock } =
    options;
  const searches = new SingleFlight<string, UptimeProof>();
  const running = new FairSemaphore({ clock, limit: MAX_SEARCHES, keyShare: 1 });
  const queries = new QueryConcurrency({ clock, maxQueries: MAX_QUERIES });

  async function search(
    request: UptimeRequest,
    { signal, client }: Pick<Caller, 'signal' | 'client'>,
  ): Promise<UptimeProof> {
    const { validationID } = request;
    const { quorumNum: givenQuorum, pChainHeight: givenHeight } = settingsOf(request);
    const { signingSubnetID, uptimeChainID, managerChainID } = await findChain(request, signal);
    const ofManager = managerChainID && { chainID: managerChainID, isRequired: false };
    const destination = destinationOf(request) ?? ofManager;
    const quorumNum = givenQuorum ?? quorumOf(destination && (await destinations.find(destination.chainID, signal)));
    const signers = await resolver.signersOf(signingSubnetID, { pChainHeight: givenHeight, destination }, signal);
    await connectValidators(signers, options, signal);
    const { pChainHeight, warpSet } = signers;

    const messageOf = (totalUptime: bigint) =>
      createUptimeMessage(networkID, uptimeChainID, { validationID, totalUptime });
    const isConnected = (nodeID: NodeID): boolean => connections.isConnected(nodeID);
    const questions = createUptimeQuestions(warpSet.validators, isConnected, (uptime) => {
      const content = { message: messageOf(uptime).bytes, justification: new Uint8Array() };
      const query = { ...content, sourceChainID: uptimeChainID, appBytes: encodeSignatureRequest(content) };
      return (nodeID) => {
        const question = async () => {
          signal.throwIfAborted();
          return connections.requestSignature(nodeID, query, { timeoutMs: ANSWER_TIMEOUT_MS, signal });
        };
        return queries.run(query.appBytes.length, question, client);
      };
    });
    const neededWeight = quorumWeight(quorumNum, warpSet.totalWeight) || 1n;
    for (let repairs = 0; ; repairs += 1) {
      const uptime = (await questions.findHighest(neededWeight)) ?? 0n;
      const subject = { kind: 'message', message: messageOf(uptime), justification: new Uint8Array() } as const;
      try {
        const result = await aggregator.aggregate(
          { subject, signingSubnetID, quorumNum, pChainHeight },
          { signal, client },
        );
        return { ...result, validationID, uptimeChainID, uptime };
      } catch (error) {
        // If no uptime is signed, the error has the answers to an uptime of 0.
        if (!(error instanceof AggregatorError) || uptime === 0n || repairs === MAX_REPAIRS) throw error;
        if (!questions.leaveOut(error)) throw error;
      }
    }
  }

  async function findChain({ validationID, uptimeChainID }: UptimeRequest, parent: AbortSignal) {
    return await askPChain({ clock, timeoutMs: options.resolveTimeoutMs }, parent, async (signal) => {
      const validator = await unlessRefused(api.getL1Validator(validationID, signal));
      if (validator === undefined) {
        const message = `the P-Chain has no L1 validator of validation ${validationID}, or no longer has it`;
        throw new AggregatorError('unknown_validation', message, { field: 'validationID' });
      }
      const { subnetID } = validator;
      subnets.requireAllowed(subnetID, 'validationID');
      const managerChainID = (await directory.getSubnet(subnetID, signal))?.managerChainID;
      const chainID = uptimeChainID ?? managerChainID;
      const validatedBy = chainID && (await directory.validatedBy(chainID, signal));
      if (chainID !== undefined && validatedBy === subnetID) {
        return { signingSubnetID: subnetID, uptimeChainID: chainID, managerChainID };
      }
      const message =
        uptimeChainID === undefined
          ? `the validator manager of L1 ${subnetID} is on another subnet's chain: give the chain of the L1 whose nodes are to be asked`
          : `L1 ${subnetID} does not validate blockchain ${uptimeChainID}`;
      throw new AggregatorError('invalid_request', message, { field: 'uptimeChainID' });
    });
  }

  return {
    async prove(request: UptimeRequest, { signal, client }: Pick<Caller, 'signal' | 'client'>): Promise<UptimeProof> {
      const { quorumNum, pChainHeight } = settingsOf(request);
      const { validationID, uptimeChainID = '', destinationChainID = '' } = request;
      const key = [validationID, uptimeChainID, quorumNum, pChainHeight, destinationChainID].join('|');
      const work = async (flight: AbortSignal): Promise<UptimeProof> => {
        using permit = running.tryAcquire({ key: client });
        if (permit === undefined) {
          const text = `too many of the ${MAX_SEARCHES} searches for uptimes are running, of this client or of all`;
          throw overloaded(options.metrics.admissionRefusals, 'share', text);
        }
        using deadline = startDeadline(clock, SEARCH_TIMEOUT_MS, 'searching for the highest uptime', flight);
        try {
          return await penalties.lookUp(client, () => search(request, { client, signal: deadline.signal }));
        } catch (error) {
          flight.throwIfAborted();
          if (!deadline.signal.aborted) throw error;
          throw new AggregatorError('insufficient_weight', 'the search for the highest uptime took too long', {
            cause: error,
          });
        }
      };
      return searches.run(key, work, signal);
    },
  };
}

/** The text of subnet-evm. It only saves rounds: the result is what validators sign. */
const STATED_UPTIME = /current uptime (\d{1,19}) is less than queried uptime/;
/** subnet-evm's code for a message that it knows and does not sign (`graft/subnet-evm/warp/verifier_backend.go`). */
const VERIFY_CODE = 2;

/** @param askAbout returns a function that asks a node to sign an uptime */
function createUptimeQuestions(
  validators: readonly WarpValidator[],
  isConnected: (nodeID: NodeID) => boolean,
  askAbout: (uptime: bigint) => (nodeID: NodeID) => Promise<AttemptOutcome>,
) {
  const states = validators.map(
    ({ weight, nodeIDs }): UptimeStanding => ({
      weight,
      signed: undefined,
      refused: undefined,
      hasStated: false,
      isOut: !nodeIDs.some(isConnected),
    }),
  );
  let rounds = 0;

  async function ask(uptime: bigint, indices: readonly number[]): Promise<void> {
    const askNode = askAbout(uptime);
    await Promise.all(
      indices.map(async (index) => {
        const nodeID = validators[index]?.nodeIDs.find(isConnected);
        update(index, nodeID === undefined ? { isOut: true } : whatItSays(await askNode(nodeID), uptime));
      }),
    );
  }

  function update(index: number, change: Partial<UptimeStanding>): void {
    const state = states[index];
    if (state !== undefined) states[index] = { ...state, ...change };
  }

  return {
    /** Returns the highest uptime that the quorum signs; undefined if there is none. */
    async findHighest(neededWeight: bigint): Promise<bigint | undefined> {
      for (;;) {
        const step = planUptimeSearch(states, neededWeight, rounds);
        if (step.kind === 'over') return step.uptime;
        rounds += 1;
        await ask(step.uptime, step.indices);
      }
    },
    /** Leaves out validators whose signatures the error reports as invalid. False if there are none. */
    leaveOut({ report }: AggregatorError): boolean {
      const bad = new Set(
        report?.tally.missing.flatMap(({ nodeID, outcome }) => (outcome.kind === 'invalid_signature' ? [nodeID] : [])),
      );
      let hasLeft = false;
      for (const [index, { nodeIDs }] of validators.entries()) {
        if (!nodeIDs.some((nodeID) => bad.has(nodeID))) continue;
        hasLeft ||= states[index]?.isOut === false;
        update(index, { isOut: true });
      }
      return hasLeft;
    },
  };
}

function whatItSays(outcome: AttemptOutcome, uptime: bigint): Partial<UptimeStanding> {
  if (outcome.kind === 'signed') return { signed: uptime };
  if (outcome.kind !== 'refused' || outcome.code !== VERIFY_CODE) return { isOut: true };
  const [, figure] = STATED_UPTIME.exec(outcome.text) ?? [];
  const stated = figure === undefined ? undefined : BigInt(figure);
  if (stated === undefined || stated >= uptime) return { refused: uptime };
  return { refused: stated + 1n, hasStated: true };
}
