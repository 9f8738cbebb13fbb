import type { AggregationExamples } from '../api/openapi/example-request.ts';
import type { NetworkConfig } from '../config/settings.ts';
import type { Devnet, startDevnet } from '../devnet/devnet.ts';
import type { registerDevnetRoutes } from '../devnet/node/devnet-routes.ts';
import type { Server } from '../http/request/http-server.ts';
import type { Clock } from '../lib/concurrency/clock.ts';
import type { ApiSource } from '../network/served-network.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { AppCore, AppPart } from './app-part.ts';

export interface DevnetPartOptions {
  /** `embedded` makes one a devnet in this process. */
  readonly networks: readonly Pick<NetworkConfig, 'name' | 'aliases' | 'embedded'>[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the proxy has an upstream for node RPC; without one it gets the devnet's node. */
  readonly hasNodeUpstream: boolean;
  /** Receives the progress of the start for people. */
  readonly onProgress?: ((text: string) => void) | undefined;
}

/** Loads the devnet's code if the configuration has one. The devnet starts when its network opens. */
export async function loadDevnetPart(options: DevnetPartOptions): Promise<DevnetPart | undefined> {
  const network = options.networks.find(({ embedded }) => embedded !== undefined);
  if (network?.embedded === undefined) return undefined;
  const [devnet, routes] = await Promise.all([
    import('../devnet/devnet.ts'),
    import('../devnet/node/devnet-routes.ts'),
  ]);
  return new DevnetPart(options, network, network.embedded, { ...devnet, ...routes });
}

interface DevnetCode {
  readonly startDevnet: typeof startDevnet;
  readonly registerDevnetRoutes: typeof registerDevnetRoutes;
}

/** The devnet of the configuration: its API is that of a network and of the proxy's `node`, and its routes have requests to try. */
export class DevnetPart implements AppPart {
  readonly #options: DevnetPartOptions;
  readonly #code: DevnetCode;
  readonly #name: string;
  readonly #pathName: string;
  readonly #settings: NonNullable<NetworkConfig['embedded']>;
  #core: AppCore | undefined;
  #devnet: Devnet | undefined;

  constructor(
    options: DevnetPartOptions,
    network: Pick<NetworkConfig, 'name' | 'aliases'>,
    settings: NonNullable<NetworkConfig['embedded']>,
    code: DevnetCode,
  ) {
    this.#options = options;
    this.#code = code;
    this.#name = network.name;
    this.#pathName = exampleNameOf(network);
    this.#settings = settings;
  }

  /** Undefined before its start. */
  get devnet(): Devnet | undefined {
    return this.#devnet;
  }

  /** Returns the source of a network's API; undefined if the API has the addresses of the configuration. */
  apiSource(network: string): ApiSource | undefined {
    if (network !== this.#name) return undefined;
    return {
      reason: 'the devnet is being started',
      start: async () => {
        const { clock, logger, hasNodeUpstream, onProgress } = this.#options;
        const reportStarted = (done: number, total: number): void =>
          onProgress?.(`starting validators: ${done} of ${total}`);
        const devnet = await this.#code.startDevnet({ ...this.#settings, clock, logger, onProgress: reportStarted });
        this.#devnet = devnet;
        onProgress?.('connecting to the validators');
        const node = { baseUrl: devnet.apiUrl };
        if (!hasNodeUpstream) this.#core?.upstreams.open('node', node);
        return node;
      },
    };
  }

  start(core: AppCore): void {
    this.#core = core;
  }

  routes(server: Server): void {
    this.#code.registerDevnetRoutes(server, () => this.#devnet, this.#pathName);
  }

  /** Requests to try at `/docs`; undefined while there are none. */
  examples(): AggregationExamples | undefined {
    return this.#devnet && createAggregationExamples(this.#devnet, this.#pathName);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#devnet?.[Symbol.asyncDispose]();
  }
}

function createAggregationExamples(devnet: Devnet, network: string): AggregationExamples {
  const examples = devnet.examples(network);
  const validationId = devnet.l1Validators().find(({ isActive }) => isActive)?.validationID;
  return {
    network,
    requests: examples.flatMap(({ name, body }) => (body === undefined ? [] : [{ name, value: body }])),
    // Without parameters: the document's examples are of the path alone.
    transactions: examples.flatMap(({ name, method, path }) =>
      method === 'GET' && !path.includes('?') ? [{ name, value: path.slice(path.lastIndexOf('/') + 1) }] : [],
    ),
    ...(validationId !== undefined && { validationId }),
  };
}

/** Returns the name of a devnet in examples: `fuji` or `mainnet`, which public clients know, if it is a name of the network. */
export function exampleNameOf({ name, aliases }: Pick<NetworkConfig, 'name' | 'aliases'>): string {
  return ['fuji', 'mainnet'].find((known) => known === name || aliases.includes(known)) ?? name;
}
