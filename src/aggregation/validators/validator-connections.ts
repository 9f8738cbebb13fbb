import { type Clock, repeat } from '../../lib/concurrency/clock.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import type { PeerNetwork } from '../../p2p/peer-network.ts';
import type { ValidatorSets } from '../../pchain/state/validator-sets.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import { parseSignatureResponse } from '../../warp/signature-request.ts';
import { ratio } from './connected-weight.ts';
import { createRequiredSubnets, type RequiredSubnets, type SubnetReadiness } from './required-subnets.ts';
import type { SignatureSource } from './signature-source.ts';
import { createTrackedNodes } from './tracked-nodes.ts';
import type { AttemptOutcome } from './validator-outcome.ts';

export interface ValidatorConnectionsOptions {
  readonly network: PeerNetwork;
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly trackedSubnetIDs: readonly SubnetID[];
  /** Percent of each tracked subnet's weight that must be connected before it is up. */
  readonly readyQuorumNum: bigint;
  readonly refreshIntervalMs: number;
  /** Time that a validator stays connected after the last request or reading that named it. */
  readonly keepMs: number;
  readonly refreshTimeoutMs: number;
}

/** Keeps connections to validators; the {@link SignatureSource} of a running service. */
export interface ValidatorConnections extends SignatureSource, AsyncDisposable {
  /** The primary network first, then the tracked subnets. */
  readiness(): readonly SubnetReadiness[];
  /** Calls back when {@link readiness} may have changed; returns a function that unsubscribes. */
  onReadinessChange(listener: () => void): () => void;
  /** Subnets that are no longer tracked stay connected as long as untracked ones do. */
  trackSubnets(subnetIDs: readonly SubnetID[]): void;
}

/** Untracked subnets kept connected; an L1 has some 3 to 50 validators. */
const MAX_SUBNETS = 1_000;

export function createValidatorConnections(options: ValidatorConnectionsOptions): ValidatorConnections {
  const { network, clock, keepMs, refreshIntervalMs } = options;
  const tracked = createTrackedNodes({ network, clock, keepMs, isPreferred: isRequired, maxSubnets: MAX_SUBNETS });
  const readinessListeners = new Set<() => void>();
  const subnetOptions = {
    ...options,
    onRead: () => {
      for (const listener of readinessListeners) listener();
    },
    warn: createThrottledWarnings(options.logger, clock),
    isConnected: (nodeID: NodeID) => network.isConnected(nodeID),
    obstacle: (nodeID: NodeID) => network.obstacle(nodeID),
    keepConnected: (subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>) => tracked.prefer(subnetID, nodeIDs),
  };
  const required = createRequiredSubnets(subnetOptions);
  function isRequired(subnetID: SubnetID): boolean {
    return required.has(subnetID);
  }
  required.set(options.trackedSubnetIDs);
  declareSubnetMetrics(options.metrics, required);
  const stopFollowing = network.onNodeChange((nodeID) => required.connectionChanged(nodeID));

  const stopped = new AbortController();
  const letting = repeat(clock, stopped.signal, async () => {
    tracked.letGoOfIdle();
    return refreshIntervalMs;
  });

  return {
    track: (subnetID, nodeIDs) => tracked.track(subnetID, nodeIDs),
    readiness: required.readiness,
    isConnected: (nodeID) => network.isConnected(nodeID),
    whyUnreachable: (nodeID) => network.lastFailure(nodeID) ?? 'not connected yet',
    onConnectionChange: (listener) => network.onConnectionChange(listener),
    onReadinessChange(listener) {
      const stopListening = network.onConnectionChange(listener);
      readinessListeners.add(listener);
      return () => {
        stopListening();
        readinessListeners.delete(listener);
      };
    },
    trackSubnets(subnetIDs) {
      required.set(subnetIDs);
      subnetOptions.onRead();
    },
    async requestSignature(nodeID, { sourceChainID, appBytes }, { timeoutMs, signal }) {
      const outcome = await network.appRequest(nodeID, sourceChainID, appBytes, { timeoutMs, signal });
      return outcome.kind === 'response' ? parseResponse(outcome.bytes) : outcome;
    },
    async [Symbol.asyncDispose]() {
      stopped.abort(new Error('the service stops'));
      stopFollowing();
      await Promise.all([required.stop(), letting]);
    },
  };
}

function parseResponse(bytes: Uint8Array): AttemptOutcome {
  const signature = attempt(() => parseSignatureResponse(bytes));
  if (signature instanceof ParseError) return { kind: 'invalid_signature', reason: signature.message };
  return { kind: 'signed', signature };
}

function declareSubnetMetrics(metrics: Metrics, required: RequiredSubnets): void {
  const gauge = (name: string, help: string, valueOf: (readiness: SubnetReadiness) => number | undefined): void =>
    metrics.readGauge<'subnet_id'>({ name, help, labels: ['subnet_id'] }, () =>
      required.readiness().flatMap((readiness) => {
        const value = valueOf(readiness);
        return value === undefined ? [] : [{ labels: { subnet_id: readiness.subnetID }, value }];
      }),
    );
  gauge(
    'subnet_total_weight',
    'Total weight of the primary network and of each tracked subnet',
    ({ connected }) => connected && Number(connected.totalWeight),
  );
  gauge(
    'connected_weight_ratio',
    'How much of the total weight of a subnet is connected, from 0 to 1',
    ({ connected }) => (connected?.totalWeight ? ratio(connected.weight, connected.totalWeight) : undefined),
  );
  gauge('subnet_up', 'Whether enough weight of a subnet is connected to serve requests: 1 or 0', ({ isUp }) =>
    Number(isUp),
  );
}
