import type { AggregationExamples } from '../api/openapi/example-request.ts';
import type { Config } from '../config/settings.ts';
import type { Devnet } from '../devnet/devnet.ts';
import type { Server } from '../http/request/http-server.ts';
import type { Clock } from '../lib/concurrency/clock.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { AppPart } from './app-part.ts';

export interface DevnetPartOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the start. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the progress of the start for people. */
  readonly onProgress?: ((text: string) => void) | undefined;
}

/** The devnet of the configuration, which runs. Its routes have requests to try. */
export interface DevnetPart extends AppPart {
  readonly devnet: Devnet;
  /** Makes its API that of its network, and of the proxy's `node` if that has no address. */
  applyTo(config: Config): Config;
  routes(server: Server): void;
  /** Returns requests to try at `/docs`. */
  readonly examples: () => AggregationExamples;
}

/**
 * Starts the devnet of a configuration; undefined if it has none. To all other parts it is an endpoint like any other.
 *
 * @throws the signal's reason
 */
export async function startDevnetPart(
  config: Config,
  { onProgress = () => undefined, ...ports }: DevnetPartOptions,
): Promise<DevnetPart | undefined> {
  const { devnet: settings } = config;
  if (settings === undefined) return undefined;
  const [{ startDevnet }, { registerDevnetRoutes }] = await Promise.all([
    import('../devnet/devnet.ts'),
    import('../devnet/node/devnet-routes.ts'),
  ]);
  const devnet = await startDevnet({
    ...settings,
    ...ports,
    onProgress: (done, total) => onProgress(`starting validators: ${done} of ${total}`),
  });
  onProgress('connecting to the validators');
  const pathName = devnetPathName(config);
  const node = { baseUrl: devnet.apiUrl };
  return {
    devnet,
    applyTo({ networks, upstream, ...rest }) {
      const { endpoints, passUnknown } = upstream;
      return {
        ...rest,
        networks: networks.map((network) =>
          network.name === settings.network ? { ...network, pChainApi: [node], infoApi: [node] } : network,
        ),
        upstream: {
          ...upstream,
          endpoints: { node, ...endpoints },
          // It answers nothing but the calls of a node.
          passUnknown: passUnknown && Object.keys(endpoints).length > 0,
        },
      };
    },
    routes: (server) => registerDevnetRoutes(server, devnet, pathName),
    examples: () => createAggregationExamples(devnet, pathName),
    [Symbol.asyncDispose]: () => devnet[Symbol.asyncDispose](),
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
    l1: devnet.subnets.l1.subnetID,
  };
}

/** Returns the name of the devnet in examples: `fuji` or `mainnet`, which public clients know, if it is a name of the network. */
export function devnetPathName({ devnet, networks }: Pick<Config, 'devnet' | 'networks'>): string {
  const { name = '', aliases = [] } = networks.find((network) => network.name === devnet?.network) ?? {};
  return ['fuji', 'mainnet'].find((known) => known === name || aliases.includes(known)) ?? name;
}
