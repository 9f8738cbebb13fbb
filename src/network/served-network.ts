import { AggregatorError } from '../aggregation/aggregator-error.ts';
import { createDurationObserver } from '../aggregation/aggregator-metrics.ts';
import { type Caller, reportPhase, startWait, type Wait } from '../aggregation/stages/calls.ts';
import type { SubnetReadiness } from '../aggregation/validators/required-subnets.ts';
import type { NetworkConfig } from '../config/settings.ts';
import { sleep } from '../lib/concurrency/clock.ts';
import { startDeadline } from '../lib/concurrency/deadline.ts';
import { ConnectionChanges } from '../p2p/connection/connection-changes.ts';
import type { NodeAcceptance } from '../p2p/identity/identity-conflict.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { NETWORK_STATUSES, type Network, type NetworkReadiness } from './network.ts';
import { NetworkOpening, type OpeningState, type OpenNetwork, type ServedParts } from './network-opening.ts';
import { openNetwork, type PartsOptions } from './network-parts.ts';
import { decideStatus, loggedCauses, START_GRACE_MS, withMainCause } from './readiness.ts';

export interface NetworkOptions extends PartsOptions {
  /** Replaces names of settings in texts for operators, if the configuration has another form. */
  readonly describe?: ((text: string) => string) | undefined;
}

const RETRY_AFTER_MS = 5_000;
/** Requests that wait until the network is open. A long message has 100 KB. */
const MAX_WAITING = 256;

/** A network of the configuration: open, being opened, or refused because its API belongs to another network. */
export interface ServedNetwork extends Network {
  /** Resolves when the API first turns out to belong to another network. */
  readonly refused: Promise<void>;
  /** Rejects if the network cannot be opened: its store is unreadable, or there is a bug. */
  readonly failed: Promise<never>;
  /** Reason while the API belongs to another network. */
  readonly refusal: string | undefined;
  /** Undefined until the network is open. */
  peerCounts(): NodeAcceptance | undefined;
  /** Starts to open the network, and returns at once. Call it once. */
  open(): void;
  /**
   * Updates tracked subnets, configured peers, watched chains, addresses of APIs and RPCs, and the log level.
   *
   * @returns reason for operators why the new API addresses were rejected: they belong to another network, or do not respond
   */
  update(next: NetworkConfig): Promise<string | undefined>;
}

export function createServedNetwork(options: NetworkOptions, openApi: OpenNetwork = openNetwork): ServedNetwork {
  return new ConfiguredNetwork(options, openApi);
}

class ConfiguredNetwork implements ServedNetwork {
  readonly name: string;
  readonly pathNames: readonly string[];
  readonly defaultDestination: Network['defaultDestination'];
  readonly goApi: Network['goApi'];
  readonly aggregator: Network['aggregator'];
  readonly #options: NetworkOptions;
  readonly #describe: (text: string) => string;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #opening: NetworkOpening;
  #hasBeenUp = false;
  /** Requests that wait until the network is open. */
  #waiting = 0;
  readonly #startedMs: number;
  readonly #stopping = new AbortController();
  readonly #changes = new ConnectionChanges();

  constructor(options: NetworkOptions, openApi: OpenNetwork) {
    const { clock, network, describe = (text) => text } = options;
    this.name = network.name;
    this.pathNames = [network.name, ...network.aliases];
    this.defaultDestination = network.defaultDestination;
    this.goApi = network.goApi;
    this.#options = options;
    this.#describe = describe;
    this.#logger = options.logger.child({ network: this.name });
    this.#metrics = options.metrics.with({ network: this.name });
    this.#startedMs = clock.monotonicMs();
    this.#opening = new NetworkOpening({
      parts: { ...options, logger: this.#logger, metrics: this.#metrics },
      openApi,
      changes: this.#changes,
      signal: this.#stopping.signal,
    });
    this.#showStatus();
    this.aggregator = this.#createAggregator();
  }

  get refused(): Promise<void> {
    return this.#opening.refused;
  }

  get failed(): Promise<never> {
    return this.#opening.failed;
  }

  get subnets(): Network['subnets'] {
    return this.#requireParts().subnets;
  }

  get verifier(): Network['verifier'] {
    return this.#requireParts().verifier;
  }

  get destinations(): Network['destinations'] {
    return this.#requireParts().destinations;
  }

  get feed(): Network['feed'] {
    return this.#requireParts().feed;
  }

  get primaryChains(): Network['primaryChains'] {
    return this.#requireParts().primaryChains;
  }

  get record(): Network['record'] {
    return this.#requireParts().record;
  }

  get uptimes(): Network['uptimes'] {
    return this.#requireParts().uptimes;
  }

  get subnetUptimes(): Network['subnetUptimes'] {
    return this.#requireParts().subnetUptimes;
  }

  get validations(): Network['validations'] {
    return this.#requireParts().validations;
  }

  get refusal(): string | undefined {
    const { state } = this.#opening;
    return state.kind === 'refused' ? state.reason : undefined;
  }

  readiness(): NetworkReadiness {
    const subnets = this.#subnetReadiness().map((subnet) => {
      const { reason, ...rest } = withMainCause(subnet, this.name);
      return { ...rest, reason: reason && this.#describe(reason) };
    });
    const { status, reason } = this.#decide(subnets);
    const nodeID = this.#opening.state.kind === 'open' ? this.#options.identity.nodeID : undefined;
    return {
      name: this.name,
      status,
      reason: reason && this.#describe(reason),
      networkID: this.#opening.acceptedID,
      nodeID,
      subnets,
    };
  }

  /** Decides without the causes of missing weight, because it runs after each change of a connection. */
  untilUp(signal: AbortSignal): Promise<void> {
    return this.#changes.waitUntil(() => this.#decide().status === 'up', signal);
  }

  peerCounts(): NodeAcceptance | undefined {
    return this.#openParts()?.peers.stats();
  }

  open(): void {
    this.#opening.begin();
    // Rejects only when the service stops.
    this.#warnIfWeak(this.#stopping.signal).catch(() => undefined);
    this.untilUp(this.#stopping.signal).then(
      () => {
        this.#hasBeenUp = true;
      },
      () => undefined,
    );
  }

  update(next: NetworkConfig): Promise<string | undefined> {
    this.#logger.level = this.#options.logger.level;
    return this.#opening.update(next);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const reason = new Error('the service stops');
    this.#stopping.abort(reason);
    this.#changes.close(reason);
    await this.#opening[Symbol.asyncDispose]();
  }

  #showStatus(): void {
    this.#metrics.readGauge<'status'>(
      {
        name: 'network_status',
        help: 'The status of a network: 1 for the one it has, 0 for the others',
        labels: ['status'],
      },
      () => {
        const { status: current } = this.#decide();
        return NETWORK_STATUSES.map((status) => ({ labels: { status }, value: Number(status === current) }));
      },
    );
  }

  /** Returns the aggregator of the open network, which fails until then, unless the caller waits. */
  #createAggregator(): Network['aggregator'] {
    const observeDuration = createDurationObserver(this.#metrics);
    return {
      aggregate: async (request, caller) => {
        using wait = startWait(this.#options.clock, caller);
        await this.#untilOpen(caller, wait);
        const { state } = this.#opening;
        if (state.kind === 'open') return await state.parts.aggregator.aggregate(request, caller, wait);
        observeDuration('network_unavailable', 0);
        throw this.#unavailable(state);
      },
    };
  }

  /** Waits as long as the caller does, at most until the network is open or refused. */
  async #untilOpen(caller: Caller, wait: Wait): Promise<void> {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    const leftMs = wait.signersUntilMs - startMs;
    if (this.#opening.state.kind !== 'opening' || leftMs <= 0 || this.#waiting >= MAX_WAITING) return;
    this.#waiting += 1;
    using deadline = startDeadline(clock, leftMs, 'waiting for the network', caller.signal, wait.ends);
    try {
      await this.#changes.waitUntil(() => this.#opening.state.kind !== 'opening', deadline.signal);
    } catch {
      caller.signal.throwIfAborted();
    } finally {
      this.#waiting -= 1;
      reportPhase({ caller, wait }, 'execution', clock.monotonicMs() - startMs);
    }
  }

  /** @param subnets of the open network */
  #decide(subnets: readonly SubnetReadiness[] = this.#subnetReadiness()) {
    const { state } = this.#opening;
    const notOpen =
      state.kind === 'open'
        ? undefined
        : { reason: state.reason, isApiWrong: state.kind === 'refused' || state.isApiDown === true };
    const apiProblem = this.#openParts()?.heights.problem();
    return decideStatus({
      notOpen,
      subnets,
      apiProblem,
      hasBeenUp: this.#hasBeenUp,
      sinceStartMs: this.#options.clock.monotonicMs() - this.#startedMs,
    });
  }

  #subnetReadiness(): readonly SubnetReadiness[] {
    return this.#openParts()?.connections.readiness() ?? [];
  }

  async #warnIfWeak(signal: AbortSignal): Promise<void> {
    await sleep(this.#options.clock, START_GRACE_MS, signal);
    const { status, reason, subnets } = this.readiness();
    const weak = subnets.filter(({ missing }) => missing !== undefined);
    if (weak.length === 0) return;
    const causes = loggedCauses(weak);
    this.#logger.warn({ status, reason, causes }, 'too little weight is connected a minute after the start');
  }

  #openParts(): ServedParts | undefined {
    const { state } = this.#opening;
    return state.kind === 'open' ? state.parts : undefined;
  }

  #requireParts(): ServedParts {
    const { state } = this.#opening;
    if (state.kind === 'open') return state.parts;
    throw this.#unavailable(state);
  }

  #unavailable({ reason }: Exclude<OpeningState, { kind: 'open' }>): AggregatorError {
    const text = `${this.name} cannot be served now: ${reason}`;
    return new AggregatorError('network_unavailable', text, { retryAfterMs: RETRY_AFTER_MS });
  }
}
