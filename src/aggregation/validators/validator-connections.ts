import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { PeerNetwork } from '../../p2p/peer-network.ts';
import type { ValidatorSets } from '../../pchain/state/validator-sets.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import { parseSignatureResponse } from '../../warp/signature-request.ts';
import { type RequiredSubnet, RequiredSubnets, type SubnetReadiness } from './required-subnets.ts';
import type { SignatureSource } from './signature-source.ts';
import { TrackedNodes } from './tracked-nodes.ts';
import type { SignatureOutcome } from './validator-outcome.ts';

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
/** Peers choose the texts, which are shown in answers and logs. */
const MAX_REFUSAL_TEXT_LENGTH = 300;

export function createValidatorConnections(options: ValidatorConnectionsOptions): ValidatorConnections {
  const { network, clock, keepMs, refreshIntervalMs } = options;
  const tracked = new TrackedNodes({ network, clock, keepMs, isPreferred: isRequired, maxSubnets: MAX_SUBNETS });
  const readinessListeners = new Set<() => void>();
  const subnetOptions = {
    ...options,
    onRead: () => {
      for (const listener of readinessListeners) listener();
    },
    warn: createThrottledWarnings(options.logger, clock),
    isConnected: (nodeID: NodeID) => network.isConnected(nodeID),
    keepConnected: (subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>) => tracked.prefer(subnetID, nodeIDs),
  };
  const required = new RequiredSubnets(subnetOptions);
  function isRequired(subnetID: SubnetID): boolean {
    return required.has(subnetID);
  }
  required.set(options.trackedSubnetIDs);
  declareSubnetMetrics(options.metrics, required);
  const stopFollowing = network.onNodeChange((nodeID) => {
    for (const subnet of required.all) subnet.connectionChanged(nodeID);
  });

  const stopped = new AbortController();
  const letting = letGoOfIdle();

  async function letGoOfIdle(): Promise<void> {
    for (;;) {
      try {
        await sleep(clock, refreshIntervalMs, stopped.signal);
      } catch {
        return;
      }
      tracked.letGoOfIdle();
    }
  }

  return {
    track: (subnetID, nodeIDs) => tracked.track(subnetID, nodeIDs),
    readiness: () => required.all.map((subnet) => subnet.readiness()),
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
      switch (outcome.kind) {
        case 'response':
          return parseResponse(outcome.bytes);
        case 'refused':
          return { ...outcome, text: outcome.text.slice(0, MAX_REFUSAL_TEXT_LENGTH) };
        case 'timed_out':
        case 'unreachable':
        case 'not_asked':
          return outcome;
      }
    },
    async [Symbol.asyncDispose]() {
      stopped.abort(new Error('the service stops'));
      stopFollowing();
      await Promise.all([required.stop(), letting]);
    },
  };
}

function parseResponse(bytes: Uint8Array): SignatureOutcome {
  try {
    return { kind: 'signature', signature: parseSignatureResponse(bytes) };
  } catch (error) {
    if (error instanceof ParseError) return { kind: 'invalid_signature', reason: error.message };
    throw error;
  }
}

function declareSubnetMetrics(metrics: Metrics, required: RequiredSubnets): void {
  const gauge = (name: string, help: string, valueOf: (subnet: RequiredSubnet) => number | undefined): void =>
    metrics.readGauge<'subnet_id'>({ name, help, labels: ['subnet_id'] }, () =>
      required.all.flatMap((subnet) => {
        const value = valueOf(subnet);
        return value === undefined ? [] : [{ labels: { subnet_id: subnet.subnetID }, value }];
      }),
    );
  gauge('subnet_total_weight', 'Total weight of the primary network and of each tracked subnet', (subnet) =>
    subnet.totalWeight(),
  );
  gauge('connected_weight_ratio', 'How much of the total weight of a subnet is connected, from 0 to 1', (subnet) =>
    subnet.connectedRatio(),
  );
  gauge('subnet_up', 'Whether enough weight of a subnet is connected to serve requests: 1 or 0', (subnet) =>
    Number(subnet.readiness().isUp),
  );
}
