import { AggregatorError } from '../aggregator/aggregator-error.ts';
import type { NetworkConfig } from '../config/settings.ts';
import type { ApiEndpoint } from '../primitives/api-endpoint.ts';
import { sleep } from '../primitives/clock.ts';
import { PUBLIC_NETWORKS, publicNetworkNamed } from '../primitives/networks.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Network, NetworkReadiness } from './network.ts';
import { askNetworkID } from './network-id.ts';
import {
  type NetworkApi,
  type NetworkParts,
  openNetworkApi,
  openNetworkParts,
  type SharedParts,
} from './network-parts.ts';
import { decideStatus } from './readiness.ts';

export interface NetworkOptions extends SharedParts {
  readonly network: NetworkConfig;
  /** Of the process; lines of the network get its name. */
  readonly logger: Logger;
  readonly metrics: Metrics;
  /**
   * Where the embedded network has its API, when it is up. It belongs to whoever starts it. Undefined for a network that
   * runs elsewhere, whose configuration says where.
   */
  readonly startEmbedded?: ((signal: AbortSignal) => Promise<ApiEndpoint>) | undefined;
}

export interface OpenedNetwork extends Network {
  /** Resolves with the reason when the API turns out to be of another network. */
  readonly refused: Promise<string>;
  /** Rejects where the network can never be opened: its store cannot be read, the embedded network gets no ports, or a bug. */
  readonly failed: Promise<never>;
}

/** How long a client may wait before it asks again for a network that is being opened. */
const RETRY_AFTER_MS = 5_000;
/** An API of the wrong network is asked again now and then, so that correcting it takes no restart. */
const REFUSED_RETRY_MS = 30_000;

/** Begins to open a network and comes back at once: whatever is slow, missing or wrong there holds up nothing else. */
export function openNetwork(options: NetworkOptions): OpenedNetwork {
  return new ServedNetwork(options);
}

class ServedNetwork implements OpenedNetwork {
  readonly name: string;
  readonly pathNames: readonly string[];
  readonly refused: Promise<string>;
  readonly failed: Promise<never>;
  readonly aggregator: Network['aggregator'];
  readonly #options: NetworkOptions;
  readonly #startedMs: number;
  readonly #stopping = new AbortController();
  /** Resolves when nothing is being opened any more. */
  readonly #opening: Promise<void>;
  readonly #opened = new AsyncDisposableStack();
  readonly #whenOpen = Promise.withResolvers<NetworkParts>();
  readonly #whenRefused = Promise.withResolvers<string>();
  readonly #whenFailed = Promise.withResolvers<never>();
  #parts: NetworkParts | undefined;
  /** Why nothing can be served, in words for operators and clients. */
  #obstacle: { readonly reason: string; readonly isRefused: boolean } | undefined;
  #hasBeenUp = false;

  constructor(options: NetworkOptions) {
    const { network, logger, metrics, clock } = options;
    this.name = network.name;
    this.pathNames = [network.name, ...network.aliases];
    this.refused = this.#whenRefused.promise;
    this.failed = this.#whenFailed.promise;
    this.#options = {
      ...options,
      logger: logger.child({ network: network.name }),
      metrics: metrics.with({ network: network.name }),
    };
    this.#startedMs = clock.monotonicMs();
    this.#obstacle = { reason: 'the network is being opened', isRefused: false };
    this.aggregator = {
      aggregate: async (request, call) => this.#requireParts().aggregator.aggregate(request, call),
    };
    // Nobody has to wait for either.
    this.#whenOpen.promise.catch(() => undefined);
    this.failed.catch(() => undefined);
    this.#opening = this.#open().catch((error: unknown) => {
      this.#whenOpen.reject(error);
      if (!this.#stopping.signal.aborted) this.#whenFailed.reject(error);
    });
  }

  readiness(): NetworkReadiness {
    const subnets = this.#parts?.connections.readiness() ?? [];
    const sinceStartMs = this.#options.clock.monotonicMs() - this.#startedMs;
    const { status, reason } = decideStatus({
      notOpen: this.#obstacle,
      subnets,
      hasBeenUp: this.#hasBeenUp,
      sinceStartMs,
    });
    if (status === 'up') this.#hasBeenUp = true;
    const nodeID = this.#parts === undefined ? undefined : this.#options.identity.nodeID;
    return { name: this.name, status, reason, nodeID, subnets };
  }

  async untilUp(signal: AbortSignal): Promise<void> {
    const parts = await orAborted(this.#whenOpen.promise, signal);
    await parts.peers.waitUntil(() => this.readiness().status === 'up', signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await this.#opening;
    await this.#opened.disposeAsync();
  }

  #requireParts(): NetworkParts {
    if (this.#parts !== undefined && this.#obstacle === undefined) return this.#parts;
    throw new AggregatorError(
      'network_unavailable',
      `${this.name} cannot be served now: ${this.#obstacle?.reason ?? 'it is being opened'}`,
      { retryAfterMs: RETRY_AFTER_MS },
    );
  }

  async #open(): Promise<void> {
    const { signal } = this.#stopping;
    const options = await this.#withEndpoints(signal);
    const api = openNetworkApi(this.#opened, options);
    const known = publicNetworkNamed(this.name);
    const networkID = known?.networkID ?? (await this.#untilOwnNetwork(api, signal));
    this.#parts = openNetworkParts(this.#opened, { ...options, networkID }, api);
    this.#obstacle = undefined;
    this.#whenOpen.resolve(this.#parts);
    options.logger.info({ networkID, nodeID: options.identity.nodeID }, 'network opened');
    if (known !== undefined) {
      const { networkID: expected } = known;
      await this.#untilAccepted(
        api,
        (given) => (given === expected ? undefined : otherNetwork(this.name, expected, given)),
        signal,
      );
    }
  }

  /** A local network may have any ID but those of the public networks, which must not be served with its laxer defaults. */
  #untilOwnNetwork(api: NetworkApi, signal: AbortSignal): Promise<number> {
    return this.#untilAccepted(api, (given) => publicNetworkInDisguise(this.name, given), signal);
  }

  async #withEndpoints(signal: AbortSignal): Promise<NetworkOptions> {
    const { network, startEmbedded } = this.#options;
    if (startEmbedded === undefined) return this.#options;
    this.#obstacle = { reason: 'the embedded network is being started', isRefused: false };
    const endpoints = [await startEmbedded(signal)];
    signal.throwIfAborted();
    return { ...this.#options, network: { ...network, pChainApi: endpoints, infoApi: endpoints } };
  }

  #askNetworkID({ node }: NetworkApi, signal: AbortSignal): Promise<number> {
    const { clock, logger, network } = this.#options;
    const onFailure = (reason: string): void => {
      // A public network is served without this answer, as its ID is known.
      if (this.#parts === undefined) {
        this.#obstacle = { reason: `its info API does not answer yet (${reason})`, isRefused: false };
      }
    };
    return askNetworkID({ api: node, clock, logger, timeoutMs: network.apiTimeoutMs, onFailure }, signal);
  }

  /** Resolves with the ID that the API gives as soon as nothing speaks against it; until then nothing is served. */
  async #untilAccepted(
    api: NetworkApi,
    findProblem: (networkID: number) => string | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, logger } = this.#options;
    for (;;) {
      const networkID = await this.#askNetworkID(api, signal);
      const reason = findProblem(networkID);
      const wasRefused = this.#obstacle?.isRefused === true;
      if (reason === undefined) {
        if (wasRefused) logger.info({ networkID }, 'the API is of the right network now');
        this.#obstacle = undefined;
        return networkID;
      }
      if (!wasRefused) logger.error({ networkID }, reason);
      this.#obstacle = { reason, isRefused: true };
      this.#whenRefused.resolve(reason);
      await sleep(clock, REFUSED_RETRY_MS, signal);
    }
  }
}

function otherNetwork(name: string, expected: number, given: number): string {
  return `its info API is of network ID ${given}, and ${name} has ${expected}: check infoApi and pChainApi`;
}

function publicNetworkInDisguise(name: string, given: number): string | undefined {
  const known = PUBLIC_NETWORKS.find(({ networkID }) => networkID === given);
  return known && `its info API is of ${known.name}: call the network ${known.name} in the configuration, not ${name}`;
}

/** The promise, or a rejection with the signal's reason, whichever is first. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
