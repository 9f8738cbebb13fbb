import type { NetworkConfig } from '../config/settings.ts';
import { backoffMs } from '../lib/concurrency/backoff.ts';
import { sleep } from '../lib/concurrency/clock.ts';
import type { ConnectionChanges } from '../p2p/connection/connection-changes.ts';
import type { NodeAcceptance } from '../p2p/identity/identity-conflict.ts';
import { createThrottledWarnings, type ThrottledWarnings } from '../telemetry/log-throttle.ts';
import { publicNetworkNamed } from '../warp/networks.ts';
import { findNetworkProblem, readNetworkID } from './network-id.ts';
import { limitsOf } from './network-limits.ts';
import type { NetworkParts, openNetwork, PartsOptions } from './network-parts.ts';

export type ServedParts = Pick<
  NetworkParts,
  | 'aggregator'
  | 'subnets'
  | 'verifier'
  | 'uptimes'
  | 'subnetUptimes'
  | 'validations'
  | 'destinations'
  | 'feed'
  | 'primaryChains'
  | 'record'
  | 'update'
> & {
  readonly connections: Pick<NetworkParts['connections'], 'readiness' | 'onReadinessChange'>;
  readonly heights: Pick<NetworkParts['heights'], 'problem' | 'onRecovery'>;
  readonly peers: { stats(): NodeAcceptance };
};

interface OpenedNetwork extends Pick<ReturnType<typeof openNetwork>, 'getNetworkID' | 'useEndpoints'> {
  openParts(opened: AsyncDisposableStack, networkID: number): ServedParts;
}

/** A port for scripted networks in tests. */
export type OpenNetwork = (opened: AsyncDisposableStack, options: PartsOptions) => OpenedNetwork;

/** Pauses between requests for the network ID. */
const RETRY_PAUSES = { baseMs: 1_000, maxMs: 30_000 };
/** An API of another network may be corrected without a restart. */
const REFUSED_RETRY_MS = 30_000;

export type OpeningState =
  /** `reason` is for operators and clients. */
  | { readonly kind: 'opening'; readonly reason: string; readonly isApiDown?: boolean }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'open'; readonly parts: ServedParts; readonly opened: AsyncDisposableStack };

export interface NetworkOpeningOptions {
  readonly parts: PartsOptions;
  readonly openApi: OpenNetwork;
  /** Announces each change of the state; closed when the network cannot be opened. */
  readonly changes: ConnectionChanges;
  /** Aborts when the service stops. */
  readonly signal: AbortSignal;
}

/** Opens a network once its API has proven to belong to it, asks an API that does not again, and replaces its addresses. */
export class NetworkOpening implements AsyncDisposable {
  readonly #options: NetworkOpeningOptions;
  readonly #warn: ThrottledWarnings;
  #config: NetworkConfig;
  /** Undefined until the opening begins. */
  #api: OpenedNetwork | undefined;
  /** Network ID of the info API, once it was checked. */
  #acceptedID: number | undefined;
  /** Last update, for parts that are opened later. */
  #updated: NetworkConfig | undefined;
  #state: OpeningState = { kind: 'opening', reason: 'the network is being opened' };
  /** Resolves at the end of the opening. */
  #opening: Promise<void> = Promise.resolve();
  readonly #opened = new AsyncDisposableStack();
  readonly #refused = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();

  constructor(options: NetworkOpeningOptions) {
    const { clock, logger, network } = options.parts;
    this.#options = options;
    this.#warn = createThrottledWarnings(logger, clock);
    this.#config = network;
    // Prevents an unhandled rejection.
    this.#failed.promise.catch(() => undefined);
  }

  get state(): OpeningState {
    return this.#state;
  }

  get acceptedID(): number | undefined {
    return this.#acceptedID;
  }

  /** Resolves when the API first turns out to belong to another network. */
  get refused(): Promise<void> {
    return this.#refused.promise;
  }

  /** Rejects if the network cannot be opened. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Begins to open the network. Call it once. */
  begin(): void {
    const { changes, signal } = this.#options;
    this.#opening = this.#openAll(signal).catch((error: unknown) => {
      if (signal.aborted) return;
      changes.close(error instanceof Error ? error : new Error(String(error)));
      this.#failed.reject(error);
    });
  }

  /** @returns why the new API addresses were rejected */
  async update(next: NetworkConfig): Promise<string | undefined> {
    const { trackedSubnetIDs, manuallyTrackedPeers, chainRpc, feed, pChainApi, infoApi } = next;
    const before = this.#config;
    this.#config = { ...before, trackedSubnetIDs, manuallyTrackedPeers, chainRpc, feed };
    this.#updated = next;
    if (this.#state.kind === 'open') this.#state.parts.update(next);
    const isSame = JSON.stringify([pChainApi, infoApi]) === JSON.stringify([before.pChainApi, before.infoApi]);
    if (isSame) return undefined;
    const problem =
      this.#acceptedID !== undefined ? await this.#findEndpointProblem({ ...before, pChainApi, infoApi }) : undefined;
    if (problem !== undefined) return problem;
    this.#config = { ...this.#config, pChainApi, infoApi };
    this.#api?.useEndpoints({ pChainApi, infoApi });
    return undefined;
  }

  /** Closes the network after the signal has aborted. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening;
    await this.#opened.disposeAsync();
  }

  async #openAll(signal: AbortSignal): Promise<void> {
    const openedApi = this.#openApiOf(this.#config, this.#opened);
    this.#api = openedApi;
    const { name } = this.#config;
    const known = publicNetworkNamed(name);
    // The ID of a public network is known, so its info API is not necessary.
    if (known !== undefined) this.#openParts(openedApi, known.networkID);
    for (;;) {
      const { infoApi: infoApiBefore } = this.#config;
      const networkID = await this.#askNetworkID(openedApi, signal);
      // The addresses were changed meanwhile: this may be a response of the old API.
      if (this.#config.infoApi !== infoApiBefore) continue;
      const problem = findNetworkProblem(name, known?.networkID, networkID);
      if (problem === undefined) {
        if (this.#state.kind !== 'open') this.#openParts(openedApi, networkID);
        this.#acceptedID = networkID;
        return;
      }
      await this.#refuse(problem, networkID);
      await sleep(this.#options.parts.clock, REFUSED_RETRY_MS, signal);
    }
  }

  #openApiOf(network: NetworkConfig, opened: AsyncDisposableStack): OpenedNetwork {
    return this.#options.openApi(opened, { ...this.#options.parts, network });
  }

  /** Requests the network ID until the API responds: the service may start before its node. */
  async #askNetworkID(openedApi: OpenedNetwork, signal: AbortSignal): Promise<number> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#tryNetworkID(openedApi, signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#warn('info API', { err: error }, 'the info API does not answer yet; trying again');
        // A refused network stays refused until its API responds.
        if (this.#state.kind === 'opening') {
          const reason = `its info API does not answer yet (${textOf(error)})`;
          this.#become({ kind: 'opening', reason, isApiDown: true });
        }
      }
      await sleep(this.#options.parts.clock, backoffMs(failures, RETRY_PAUSES), signal);
    }
  }

  #tryNetworkID(openedApi: OpenedNetwork, signal: AbortSignal): Promise<number> {
    const { parts } = this.#options;
    const { apiTimeoutMs } = limitsOf(parts);
    return readNetworkID(openedApi, parts.clock, apiTimeoutMs, signal);
  }

  /** Returns why the endpoints cannot be used. Data of another network must not be mixed with cached data. */
  async #findEndpointProblem(network: NetworkConfig): Promise<string | undefined> {
    await using tried = new AsyncDisposableStack();
    const triedApi = this.#openApiOf(network, tried);
    try {
      const networkID = await this.#tryNetworkID(triedApi, this.#options.signal);
      if (this.#acceptedID === networkID) return undefined;
      return `its new info API reports network ID ${networkID}, but the network has ${this.#acceptedID}`;
    } catch (error) {
      return `its new info API does not answer: ${textOf(error)}`;
    }
  }

  #openParts(openedApi: OpenedNetwork, networkID: number): void {
    // Closed with the network even if not all parts can be opened.
    const openedParts = this.#opened.use(new AsyncDisposableStack());
    const parts = openedApi.openParts(openedParts, networkID);
    if (this.#updated !== undefined) parts.update(this.#updated);
    const { changes } = this.#options;
    openedParts.defer(parts.connections.onReadinessChange(() => changes.announce()));
    openedParts.defer(parts.heights.onRecovery(() => changes.announce()));
    this.#become({ kind: 'open', parts, opened: openedParts });
    const { identity, logger } = this.#options.parts;
    logger.info({ networkId: networkID, nodeId: identity.nodeID }, 'network opened');
  }

  /** Closes the parts with all data from another network's API. */
  async #refuse(reason: string, networkID: number): Promise<void> {
    const before = this.#state;
    this.#become({ kind: 'refused', reason });
    this.#refused.resolve();
    if (before.kind !== 'refused') this.#options.parts.logger.error({ networkId: networkID }, reason);
    if (before.kind === 'open') await before.opened.disposeAsync();
  }

  #become(next: OpeningState): void {
    this.#state = next;
    this.#options.changes.announce();
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
