import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { PeerNetwork } from '../../p2p/peer-network.ts';
import type { ObstacleCause } from '../../p2p/peer-view.ts';
import type { ValidatorFunds } from '../../pchain/state/validator-funds.ts';
import type { ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { BlockchainID, NodeID, SubnetID } from '../../warp/ids.ts';
import { createLookupLimit, type LookupMetrics } from '../admission/lookup-limit.ts';
import type { Penalties } from '../admission/penalties.ts';
import { renameField } from '../aggregator-error.ts';
import { askOptionally } from '../ask-p-chain.ts';
import { settingsOf } from '../request/aggregation-request.ts';
import type { SignersAtHeight } from '../signers/signing-plan.ts';
import { destinationOf } from '../signers/signing-question.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import type { AnswerHistories, AnswerHistory } from '../validators/answer-history.ts';
import { ratio } from '../validators/connected-weight.ts';
import type { InvalidSigners } from '../validators/invalid-signers.ts';
import { readinessOf, type SubnetReadiness } from '../validators/required-subnets.ts';
import type { ValidatorConnections } from '../validators/validator-connections.ts';
import { assembleSubnetView, type SubnetView } from './subnet-view.ts';

export interface SubnetWeights extends Pick<SubnetView, 'totalWeight' | 'connectedWeight' | 'signableWeight'> {
  readonly subnetID: SubnetID;
}

export interface SubnetRequest {
  readonly subnetID: SubnetID;
  readonly pChainHeight?: bigint | undefined;
  /** At the height of its epoch; the default is the proposed height. */
  readonly destinationChainID?: BlockchainID | undefined;
}

export interface KnownSubnet extends SubnetReadiness {
  readonly isTracked: boolean;
}

export interface SubnetViewsOptions {
  /** Views connect validators, so the operator's policy applies. */
  readonly subnets: Pick<SubnetPolicy, 'requireAllowed'>;
  readonly resolver: Pick<SigningResolver, 'signersOf'>;
  readonly validatorSets: Pick<ValidatorSets<WarpSet>, 'newest'>;
  readonly connections: Pick<ValidatorConnections, 'track' | 'readiness'>;
  readonly peers: Pick<PeerNetwork, 'describe' | 'waitUntil'>;
  readonly funds: Pick<ValidatorFunds, 'fundsOf'>;
  readonly histories: { of(...args: Parameters<AnswerHistories['of']>): Pick<AnswerHistory, 'pastOf'> };
  readonly invalidSigners: Pick<InvalidSigners, 'has'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly lookupMetrics: LookupMetrics;
  readonly penalties: Penalties;
  readonly readyQuorumNum: bigint;
}

/** Any client may read the list and the metrics, and adding up 12,000 validators takes tens of milliseconds. */
const LISTED_MS = 1_000;
/** Each may wait two seconds for connections, and makes a few calls of the P-Chain API. */
const MAX_AT_WORK = 64;
/** TLS and handshake take some 40 ms on a near network, and addresses come by gossip within a second or two. */
const CONNECT_WAIT_MS = 2_000;
const FUNDS_TIMEOUT_MS = 1_500;
/** Causes that pass within moments. */
const PASSING_CAUSES: ReadonlySet<ObstacleCause> = new Set([
  'connecting',
  'no_address',
  'version_unknown',
  'superseded',
]);

/** What is known of subnets and their validators, for people and monitoring. */
export interface SubnetViews {
  /** Connects the validators too, and waits for connections if the subnet was not requested recently. */
  view(request: SubnetRequest, signal: AbortSignal, client?: string): Promise<SubnetView>;
  /** The primary network, then the tracked subnets, then recently requested ones. */
  list(): readonly KnownSubnet[];
  /** All known subnets, most recently requested first, without any lookup. */
  weights(): readonly SubnetWeights[];
}

export function createSubnetViews(options: SubnetViewsOptions): SubnetViews {
  const { resolver, validatorSets, connections, peers, histories, subnets, invalidSigners, clock, readyQuorumNum } =
    options;

  const running = createLookupLimit({ clock, metrics: options.lookupMetrics, kind: 'view', limit: MAX_AT_WORK });
  const factsOf = (subnetID: SubnetID) => {
    const history = histories.of(subnetID);
    return {
      peerOf: (nodeID: NodeID) => peers.describe(nodeID),
      pastOf: (nodeID: NodeID) => history.pastOf(nodeID),
      isInvalidSigner: (publicKeyHex: string) => invalidSigners.has(publicKeyHex),
    };
  };
  const weightsOf = (subnetID: SubnetID, warpSet: WarpSet) => {
    const facts = { subnetID, warpSet, pChainHeight: 0n, funds: new Map(), ...factsOf(subnetID) };
    const { totalWeight, connectedWeight, signableWeight } = assembleSubnetView(facts);
    return { totalWeight, connectedWeight, signableWeight };
  };
  const listed = new WeakMap<WarpSet, ReturnType<typeof weightsOf> & { readonly atMs: number }>();
  function listedWeightsOf(subnetID: SubnetID, warpSet: WarpSet): ReturnType<typeof weightsOf> {
    const nowMs = clock.monotonicMs();
    const known = listed.get(warpSet);
    if (known !== undefined && nowMs - known.atMs < LISTED_MS) return known;
    const weights = { ...weightsOf(subnetID, warpSet), atMs: nowMs };
    listed.set(warpSet, weights);
    return weights;
  }
  options.metrics.readGauge<'subnet_id'>(
    {
      name: 'signable_weight_ratio',
      help: 'How much of the total weight of a subnet is connected and has nothing known against it, from 0 to 1: the highest quorum now',
      labels: ['subnet_id'],
    },
    () => {
      const tracked = new Set(connections.readiness().map(({ subnetID }) => subnetID));
      return validatorSets
        .newest()
        .filter(([subnetID, { totalWeight }]) => tracked.has(subnetID) && totalWeight > 0n)
        .map(([subnetID, warpSet]) => ({
          labels: { subnet_id: subnetID },
          value: ratio(listedWeightsOf(subnetID, warpSet).signableWeight, warpSet.totalWeight),
        }));
    },
  );

  return {
    async view({ subnetID, ...request }: SubnetRequest, signal: AbortSignal, client?: string): Promise<SubnetView> {
      subnets.requireAllowed(subnetID, 'subnetID');
      const { pChainHeight } = settingsOf(request);
      using _permit = await running.acquire(client, signal);
      const destination = destinationOf(request);
      const find = () => resolver.signersOf(subnetID, { pChainHeight, destination }, signal);
      const isKnown = destination === undefined && validatorSets.newest().some(([known]) => known === subnetID);
      const found = isKnown ? find() : options.penalties.lookUp(client, find);
      const signers = await renameField(found, 'signingSubnetID', 'subnetID');
      const [funds] = await Promise.all([
        askOptionally({ clock, timeoutMs: FUNDS_TIMEOUT_MS }, signal, (until) =>
          options.funds.fundsOf(subnetID, until),
        ),
        connectValidators(signers, options, signal),
      ]);
      return assembleSubnetView({ ...signers, ...factsOf(subnetID), subnetID, funds: funds ?? new Map() });
    },

    list(): readonly KnownSubnet[] {
      const tracked = connections.readiness().map((readiness) => ({ ...readiness, isTracked: true }));
      const known = new Set(tracked.map(({ subnetID }) => subnetID));
      const others = validatorSets
        .newest()
        .filter(([subnetID, { totalWeight }]) => !known.has(subnetID) && totalWeight > 0n)
        .map(([subnetID, warpSet]) => ({
          ...readinessOf(
            subnetID,
            { weight: listedWeightsOf(subnetID, warpSet).connectedWeight, totalWeight: warpSet.totalWeight },
            { readyQuorumNum },
          ),
          isTracked: false,
        }));
      return [...tracked, ...others];
    },

    weights(): readonly SubnetWeights[] {
      return validatorSets.newest().map(([subnetID, warpSet]) => ({ subnetID, ...weightsOf(subnetID, warpSet) }));
    },
  };
}

export interface ConnectOptions extends Pick<SubnetViewsOptions, 'peers' | 'clock'> {
  readonly connections: Pick<ValidatorConnections, 'track'>;
}

/** Waits until each validator has a result, at most {@link CONNECT_WAIT_MS} after the last of them was first named. */
export async function connectValidators(
  { signingSubnetID, warpSet }: Pick<SignersAtHeight, 'signingSubnetID' | 'warpSet'>,
  { connections, peers, clock }: ConnectOptions,
  signal: AbortSignal,
): Promise<void> {
  const nodeIDs = new Set(warpSet.validators.flatMap((validator) => validator.nodeIDs));
  const trackedSinceMs = connections.track(signingSubnetID, nodeIDs);
  const leftMs = trackedSinceMs + CONNECT_WAIT_MS - clock.monotonicMs();
  const isSettled = (nodeID: NodeID): boolean => {
    const { obstacle } = peers.describe(nodeID);
    return obstacle === undefined || !PASSING_CAUSES.has(obstacle.cause);
  };
  const areSettled = (): boolean => [...nodeIDs].every(isSettled);
  if (leftMs <= 0 || areSettled()) return;
  using deadline = startDeadline(clock, leftMs, 'connecting validators', signal);
  try {
    await peers.waitUntil(areSettled, deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.signal.aborted) throw error;
  }
}
