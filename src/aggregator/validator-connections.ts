import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { PeerNetwork } from '../p2p/peer-network.ts';
import type { ValidatorSets } from '../pchain/validator-sets.ts';
import { type Clock, sleep } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import type { Logger } from '../telemetry/logger.ts';
import { isQuorumReached } from '../validators/quorum.ts';
import type { WarpSet } from '../validators/warp-set.ts';
import { encodeSignatureRequest, parseSignatureResponse } from '../warp/signature-request.ts';
import type { AggregatorMetrics } from './aggregator-metrics.ts';
import type { PeerOutcome, SignatureSource } from './signature-source.ts';

export interface ValidatorConnectionsOptions {
  readonly network: PeerNetwork;
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: AggregatorMetrics;
  /** Connected from the start, beside the primary network. */
  readonly trackedSubnetIDs: readonly SubnetID[];
  /** Percent of each tracked subnet's weight that must be connected before the service is ready. */
  readonly readyQuorumNum: bigint;
  /** How often the tracked subnets' sets are read anew. */
  readonly refreshIntervalMs: number;
  /** How long a validator stays connected after the last request or refresh that named it. */
  readonly keepMs: number;
  /** Time for one reading of all sets. */
  readonly refreshTimeoutMs: number;
}

/** Keeps connections to the validators that are, or will be, asked; the {@link SignatureSource} of a running service. */
export interface ValidatorConnections extends SignatureSource, AsyncDisposable {
  readiness(): Readiness;
}

export interface Readiness {
  readonly isReady: boolean;
  readonly subnets: readonly SubnetReadiness[];
}

export interface SubnetReadiness {
  readonly subnetID: SubnetID;
  /** Undefined until the set was read once. */
  readonly connected: { readonly weight: bigint; readonly totalWeight: bigint; readonly isEnough: boolean } | undefined;
}

/** Subnets asked for on demand that are kept connected; an L1 has some 3 to 50 validators. */
const MAX_SUBNETS = 1_000;
/** Texts come from peers and end in answers and logs. */
const MAX_REFUSAL_TEXT_LENGTH = 300;

export function createValidatorConnections(options: ValidatorConnectionsOptions): ValidatorConnections {
  const { network, validatorSets, clock, logger, metrics, keepMs } = options;
  const required = [...new Set([PRIMARY_NETWORK_ID, ...options.trackedSubnetIDs])];
  const sets = new Map<SubnetID, WarpSet>();
  const tracked = new LRUCache<SubnetID, TrackedSubnet>({
    max: MAX_SUBNETS + required.length,
    dispose: (_subnet, subnetID, reason) => {
      if (reason !== 'set') network.unwant(subnetID);
    },
  });
  const stopped = new AbortController();
  const refreshing = refreshForever();

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

  /** For subnets that no request comes for any more. */
  function letGoOfIdle(): void {
    const nowMs = clock.monotonicMs();
    for (const [subnetID, subnet] of [...tracked.entries()]) {
      if (!forgetIdle(subnet, nowMs)) continue;
      if (subnet.size === 0) tracked.delete(subnetID);
      else network.want(subnetID, new Set(subnet.keys()));
    }
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

  async function refreshForever(): Promise<void> {
    for (;;) {
      try {
        await refresh(stopped.signal);
      } catch (error) {
        if (stopped.signal.aborted) return;
        logger.warn({ err: error }, 'could not read the validator sets; trying again');
      }
      letGoOfIdle();
      try {
        // Until every required subnet has validators, nothing is ready: a subnet about to be converted is looked at soon.
        const isComplete = required.every((subnetID) => (sets.get(subnetID)?.totalWeight ?? 0n) > 0n);
        await sleep(clock, isComplete ? options.refreshIntervalMs : FIRST_RETRY_MS, stopped.signal);
      } catch {
        return;
      }
    }
  }

  async function refresh(parent: AbortSignal): Promise<void> {
    using deadline = startDeadline(clock, options.refreshTimeoutMs, 'reading the validator sets', parent);
    const height = await validatorSets.proposedHeight(deadline.signal);
    for (const subnetID of required) {
      const set = await validatorSets.at(subnetID, height, deadline.signal);
      sets.set(subnetID, set);
      track(subnetID, new Set(set.validators.flatMap(({ nodeIDs }) => nodeIDs)));
      await nextTurn();
    }
    readiness();
  }

  function readiness(): Readiness {
    const subnets = required.map((subnetID): SubnetReadiness => {
      const set = sets.get(subnetID);
      if (set === undefined) return { subnetID, connected: undefined };
      const weight = set.validators
        .filter(({ nodeIDs }) => nodeIDs.some((nodeID) => network.isConnected(nodeID)))
        .reduce((sum, validator) => sum + validator.weight, 0n);
      const { totalWeight } = set;
      if (totalWeight > 0n) {
        metrics.connectedWeight.set({ subnet_id: subnetID }, Number((weight * 10_000n) / totalWeight) / 100);
      }
      // A tracked subnet without validators is a mistake in the configuration or a chain not yet started: not ready.
      const isEnough = totalWeight > 0n && isQuorumReached(options.readyQuorumNum, weight, totalWeight);
      return { subnetID, connected: { weight, totalWeight, isEnough } };
    });
    return { isReady: subnets.every(({ connected }) => connected?.isEnough === true), subnets };
  }

  return {
    track,
    readiness,
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
          return { ...outcome, text: outcome.text.slice(0, MAX_REFUSAL_TEXT_LENGTH) };
        case 'silent':
          return { kind: 'timed out' };
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

/** Between tries while the service is not ready yet. */
const FIRST_RETRY_MS = 1_000;

function signatureOutcome(bytes: Uint8Array): PeerOutcome {
  try {
    return { kind: 'signature', signature: parseSignatureResponse(bytes) };
  } catch (error) {
    if (error instanceof ParseError) return { kind: 'invalid signature', reason: error.message };
    throw error;
  }
}
