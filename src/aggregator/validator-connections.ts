import { LRUCache } from 'lru-cache';
import type { PeerNetwork } from '../p2p/peer-network.ts';
import { ApiError } from '../pchain/api-error.ts';
import type { ValidatorSets } from '../pchain/validator-sets.ts';
import { type Clock, sleep } from '../primitives/clock.ts';
import { DeadlineExceeded, startDeadline } from '../primitives/deadline.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createSampledWarnings } from '../telemetry/sampled-warnings.ts';
import { isQuorumReached } from '../validators/quorum.ts';
import type { WarpSet } from '../validators/warp-set.ts';
import { encodeSignatureRequest, parseSignatureResponse } from '../warp/signature-request.ts';
import type { SignatureOutcome, SignatureSource } from './signature-source.ts';

export interface ValidatorConnectionsOptions {
  readonly network: PeerNetwork;
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Connected from the start, beside the primary network. */
  readonly trackedSubnetIDs: readonly SubnetID[];
  /** Percent of each tracked subnet's weight that must be connected before the service is ready. */
  readonly readyQuorumNum: bigint;
  /** How often the set of each tracked subnet is read anew. */
  readonly refreshIntervalMs: number;
  /** How long a validator stays connected after the last request or refresh that named it. */
  readonly keepMs: number;
  /** Time for one reading of one set. */
  readonly refreshTimeoutMs: number;
}

/** Keeps connections to the validators that are, or will be, asked; the {@link SignatureSource} of a running service. */
export interface ValidatorConnections extends SignatureSource, AsyncDisposable {
  /** Of the primary network first, then of the tracked subnets. */
  readiness(): readonly SubnetReadiness[];
}

export interface SubnetReadiness {
  readonly subnetID: SubnetID;
  /** Whether enough weight is connected to serve requests. */
  readonly isUp: boolean;
  /** Why it is not up, in words for operators; undefined where it is. */
  readonly reason: string | undefined;
  /** Undefined until the validator set was read once. */
  readonly connected: { readonly weight: bigint; readonly totalWeight: bigint } | undefined;
}

/** Subnets asked for on demand that are kept connected; an L1 has some 3 to 50 validators. */
const MAX_SUBNETS = 1_000;
/** Texts come from peers and end in answers and logs. */
const MAX_REFUSAL_TEXT_LENGTH = 300;

export function createValidatorConnections(options: ValidatorConnectionsOptions): ValidatorConnections {
  const { network, validatorSets, clock, logger, keepMs } = options;
  /** The last set of each subnet that is always kept connected, and why reading it failed the last time. */
  const required = new Map<SubnetID, { set: WarpSet | undefined; failure: string | undefined }>(
    [PRIMARY_NETWORK_ID, ...options.trackedSubnetIDs].map((id) => [id, { set: undefined, failure: undefined }]),
  );
  const tracked = new LRUCache<SubnetID, TrackedSubnet>({
    max: MAX_SUBNETS + required.size,
    dispose: (_subnet, subnetID, reason) => {
      if (reason !== 'set') network.unwant(subnetID);
    },
  });
  const warn = createSampledWarnings(logger, clock);
  const stopped = new AbortController();
  // Each on its own: a set that cannot be read, or is slow to read, does not hold up the others.
  const refreshing = Promise.all([...[...required.keys()].map(keepFresh), letGoOfIdle()]);
  options.metrics.readGauge<'subnet_id'>(
    {
      name: 'connected_weight_ratio',
      help: 'How much of the total weight of a subnet is connected, from 0 to 1',
      labels: ['subnet_id'],
    },
    () => connectedRatios(),
  );

  function track(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): number {
    const nowMs = clock.monotonicMs();
    let subnet = tracked.get(subnetID);
    if (subnet === undefined) tracked.set(subnetID, (subnet = new Map()));
    let isChanged = false;
    let latestMs = 0;
    for (const nodeID of nodeIDs) {
      const node = subnet.get(nodeID);
      if (node === undefined) {
        subnet.set(nodeID, { firstMs: nowMs, lastMs: nowMs });
        isChanged = true;
      } else {
        node.lastMs = nowMs;
      }
      latestMs = Math.max(latestMs, node?.firstMs ?? nowMs);
    }
    if (forgetIdle(subnet, nowMs) || isChanged) network.want(subnetID, new Set(subnet.keys()));
    return latestMs;
  }

  function forgetIdle(subnet: TrackedSubnet, nowMs: number): boolean {
    let isChanged = false;
    for (const [nodeID, { lastMs }] of subnet) {
      if (nowMs - lastMs <= keepMs) continue;
      subnet.delete(nodeID);
      isChanged = true;
    }
    return isChanged;
  }

  /** Drops subnets for which no request comes any more. */
  async function letGoOfIdle(): Promise<void> {
    while (await hasPassed(options.refreshIntervalMs)) {
      const nowMs = clock.monotonicMs();
      for (const [subnetID, subnet] of [...tracked.entries()]) {
        if (!forgetIdle(subnet, nowMs)) continue;
        if (subnet.size === 0) tracked.delete(subnetID);
        else network.want(subnetID, new Set(subnet.keys()));
      }
    }
  }

  async function keepFresh(subnetID: SubnetID): Promise<void> {
    let isComplete = false;
    do {
      isComplete = await refresh(subnetID);
      if (stopped.signal.aborted) return;
      // Until it has validators it is not up: a subnet about to be converted is looked at soon.
    } while (await hasPassed(isComplete ? options.refreshIntervalMs : FIRST_RETRY_MS));
  }

  /** @returns whether there is a set with validators, be it of an earlier reading */
  async function refresh(subnetID: SubnetID): Promise<boolean> {
    const state = stateOf(subnetID);
    using deadline = startDeadline(clock, options.refreshTimeoutMs, 'reading the validator set', stopped.signal);
    try {
      const height = await validatorSets.proposedHeight(deadline.signal);
      state.set = await validatorSets.at(subnetID, height, deadline.signal);
      state.failure = undefined;
    } catch (error) {
      if (!stopped.signal.aborted) {
        state.failure = describeFailure(error);
        warn(subnetID, { err: error, subnetID }, 'could not read the validator set of a subnet; trying again');
      }
    }
    if (state.set === undefined) return false;
    // The last known validators stay connected while the set cannot be read.
    track(subnetID, new Set(state.set.validators.flatMap(({ nodeIDs }) => nodeIDs)));
    return state.set.totalWeight > 0n;
  }

  async function hasPassed(ms: number): Promise<boolean> {
    try {
      await sleep(clock, ms, stopped.signal);
      return true;
    } catch {
      return false;
    }
  }

  function stateOf(subnetID: SubnetID) {
    const state = required.get(subnetID);
    if (state === undefined) throw new Error(`subnet ${subnetID} is not one that is always kept connected`);
    return state;
  }

  function connectedWeight({ validators }: WarpSet): bigint {
    return validators
      .filter(({ nodeIDs }) => nodeIDs.some((nodeID) => network.isConnected(nodeID)))
      .reduce((sum, { weight }) => sum + weight, 0n);
  }

  function connectedRatios() {
    return [...required].flatMap(([subnetID, { set }]) =>
      set === undefined || set.totalWeight === 0n
        ? []
        : [{ labels: { subnet_id: subnetID }, value: ratio(connectedWeight(set), set.totalWeight) }],
    );
  }

  function readinessOf(subnetID: SubnetID): SubnetReadiness {
    const { set, failure } = stateOf(subnetID);
    if (set === undefined) {
      const reason =
        failure === undefined ? 'its validator set is being read' : `its validator set cannot be read: ${failure}`;
      return { subnetID, isUp: false, reason, connected: undefined };
    }
    const { totalWeight } = set;
    const weight = connectedWeight(set);
    const connected = { weight, totalWeight };
    if (totalWeight === 0n) {
      // A mistake in the configuration, or a chain that has not started yet.
      return { subnetID, isUp: false, reason: 'it has no validators', connected };
    }
    const { readyQuorumNum } = options;
    const isUp = isQuorumReached(readyQuorumNum, weight, totalWeight);
    const percent = (100 * ratio(weight, totalWeight)).toFixed(1);
    const reason = isUp ? undefined : `${percent} % of its weight is connected, and ${readyQuorumNum} % is needed`;
    return { subnetID, isUp, reason, connected };
  }

  return {
    track,
    readiness: () => [...required.keys()].map(readinessOf),
    isConnected: (nodeID) => network.isConnected(nodeID),
    whyUnreachable: (nodeID) => network.lastFailure(nodeID) ?? 'not connected yet',
    onConnectionChange: (listener) => network.onConnectionChange(listener),
    async requestSignature(nodeID, { sourceChainID, message, justification }, { timeoutMs, signal }) {
      const appBytes = encodeSignatureRequest({ message, justification });
      const outcome = await network.appRequest(nodeID, sourceChainID, appBytes, { timeoutMs, signal });
      switch (outcome.kind) {
        case 'response':
          return signatureOutcome(outcome.bytes);
        case 'refused':
          return { kind: 'refused', code: outcome.code, text: outcome.text.slice(0, MAX_REFUSAL_TEXT_LENGTH) };
        case 'silent':
        case 'ignored':
        case 'unreachable':
          return outcome;
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort(new Error('the service stops'));
      await refreshing;
    },
  };
}

type TrackedSubnet = Map<NodeID, { readonly firstMs: number; lastMs: number }>;

/** Between readings of a set while there is none with validators. */
const FIRST_RETRY_MS = 1_000;

function signatureOutcome(bytes: Uint8Array): SignatureOutcome {
  try {
    return { kind: 'signature', signature: parseSignatureResponse(bytes) };
  } catch (error) {
    if (error instanceof ParseError) return { kind: 'invalid_signature', reason: error.message };
    throw error;
  }
}

/** In words for operators that name no bug's inside. */
function describeFailure(error: unknown): string {
  const isExpected = error instanceof ApiError || error instanceof DeadlineExceeded || error instanceof ParseError;
  return isExpected ? error.message : 'an unexpected error; see the log';
}

/** To four digits, which a Number holds however large the weights are. */
function ratio(part: bigint, total: bigint): number {
  return Number((part * 10_000n) / total) / 10_000;
}
