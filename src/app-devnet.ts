import type { AggregationExamples } from './api/openapi/example-request.ts';
import type { NetworkConfig } from './config/settings.ts';
import type { Devnet } from './devnet/devnet.ts';
import type { Server } from './http/request/http-server.ts';
import type { Clock } from './lib/concurrency/clock.ts';
import type { ApiEndpoint } from './lib/net/api-endpoint.ts';
import type { Logger } from './telemetry/logger.ts';

export interface ConfiguredDevnetOptions {
  /** `embedded` makes one a devnet in this process. */
  readonly networks: readonly Pick<NetworkConfig, 'name' | 'aliases' | 'embedded'>[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Receives the progress of the start for people. */
  readonly onProgress: ((text: string) => void) | undefined;
  /** Receives the address of the devnet's API after the start. */
  readonly onApi: (node: ApiEndpoint) => void;
}

/** Devnet of the configuration. */
export type ConfiguredDevnet = NonNullable<Awaited<ReturnType<typeof prepareDevnet>>>;

/** Loads the devnet's code if the configuration has one. `opened` stops it. */
export async function prepareDevnet(
  opened: AsyncDisposableStack,
  { networks, clock, logger, onProgress, onApi }: ConfiguredDevnetOptions,
) {
  const network = networks.find(({ embedded }) => embedded !== undefined);
  if (network?.embedded === undefined) return undefined;
  const { validators, executionLagMs } = network.embedded;
  const pathName = exampleNameOf(network);
  const [{ startDevnet }, { registerDevnetRoutes }] = await Promise.all([
    import('./devnet/devnet.ts'),
    import('./devnet/node/devnet-routes.ts'),
  ]);
  // Opened now, so that the devnet stops after its clients.
  const running = opened.use(new AsyncDisposableStack());
  let devnet: Devnet | undefined;
  return {
    start: async (): Promise<ApiEndpoint> => {
      const reportStarted = (done: number, total: number): void =>
        onProgress?.(`starting validators: ${done} of ${total}`);
      devnet = running.use(await startDevnet({ validators, executionLagMs, clock, logger, onProgress: reportStarted }));
      onProgress?.('connecting to the validators');
      const node = { baseUrl: devnet.apiUrl };
      onApi(node);
      return node;
    },
    registerRoutes: (server: Server) => registerDevnetRoutes(server, () => devnet, pathName),
    /** Returns requests for the page of the API; undefined before the start. */
    example: (): AggregationExamples | undefined => devnet && createAggregationExamples(devnet, pathName),
    devnet: (): Devnet | undefined => devnet,
  };
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
