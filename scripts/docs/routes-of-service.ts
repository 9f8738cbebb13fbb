import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { Registry } from 'prom-client';
import { createServer, type ServerOptions } from '../../src/api/server.ts';
import { openConsole } from '../../src/console/server/console.ts';
import { registerDevnetRoutes } from '../../src/devnet/node/devnet-routes.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import type { Network } from '../../src/network/network.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

export interface ServedRoute {
  /** Such as `GET /v1/networks/{network}`. */
  readonly name: string;
  readonly group: string;
  readonly units: string;
  readonly summary: string;
  /** Undefined where the OpenAPI document leaves the route out. */
  readonly operationID: string | undefined;
}

/** Routes that the OpenAPI document leaves out, and that therefore have no summary in their schema. */
const SUMMARIES_OF_HIDDEN: ReadonlyMap<string, string> = new Map([
  ['GET /metrics', 'Metrics in the format of Prometheus'],
  ['GET /openapi.json', 'The OpenAPI 3.1 document of the service'],
  ['GET /docs', 'A page to read it and to try it'],
  ['GET /', 'What is served here, and where to go from here'],
  ['GET /console/{file}', 'The files of the console'],
  ['GET /console/facts', 'What the console has to know of its service: networks, version, what each error code means'],
  ['GET /aggregate-signatures', 'The same with any other method, as the body decides'],
  ['GET /{network}/aggregate-signatures', 'The same with any other method'],
  ['GET /v1/*', 'Any other lookup of the data API, passed on unchecked but for its form, unless `passUnknown` is off'],
]);

/** Every route of the service on an embedded network, which has all that there are, by the options it is registered with. */
export async function routesOfService(): Promise<ServedRoute[]> {
  const registered: RouteOptions[] = [];
  const onServer = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', (options) => void registered.push(options));
  };
  subscribe('fastify.initialization', onServer);
  try {
    const server = await createServer(partsOfNothing());
    await server.close();
  } finally {
    unsubscribe('fastify.initialization', onServer);
  }
  // Now, as other hooks may have added to the options of a route.
  const routes = registered.flatMap(readRoute);
  return [...new Map(routes.map((route) => [route.name, route])).values()];
}

/** The routes say nothing of what stands behind them, so nothing stands there. */
function partsOfNothing(): ServerOptions {
  const nothing = {} as never;
  const registry = new Registry();
  return {
    networks: [{ name: 'mainnet', pathNames: ['mainnet'] } as unknown as Network],
    version: '0.0.0',
    registry,
    metrics: createMetrics(registry),
    logger: createLogger('silent'),
    upstream: {
      upstreams: nothing,
      limits: nothing,
      timeoutMs: 1,
      passUnknown: true,
      rpc: { methods: new Set(), maxBatch: 1 },
    },
    clock: systemClock,
    maxConnections: 1,
    drainTimeoutMs: 1,
    registerMore(server) {
      registerDevnetRoutes(server, () => undefined, 'fuji');
      using console = openConsole({
        networks: [],
        registry,
        clock: systemClock,
        version: '',
        hasDevnet: true,
        hasFigures: true,
      });
      console.registerRoutes(server);
    },
  };
}

function readRoute({ method, url, schema, config }: RouteOptions): ServedRoute[] {
  // Fastify writes a colon that is one as two.
  const path = url.replaceAll(/::|:(\w+)(\([^)]*\))?/g, (_, name?: string) => (name === undefined ? ':' : `{${name}}`));
  // The files of the page at /docs.
  if (/^\/docs\/./.test(path)) return [];
  const access = (config as { access?: { group: string } & Price } | undefined)?.access;
  return [method]
    .flat()
    .filter((one) => one === 'GET' || one === 'POST')
    .map((one) => {
      const name = `${one} ${path === '/' ? path : path.replace(/\/$/, '')}`;
      const { summary, operationId } = (schema ?? {}) as { summary?: string; operationId?: string };
      return {
        name,
        group: access?.group ?? '',
        units: access === undefined ? '' : describeUnits(access),
        summary: summary ?? SUMMARIES_OF_HIDDEN.get(name) ?? '',
        operationID: operationId ?? (SUMMARIES_OF_HIDDEN.has(name) ? undefined : ''),
      };
    });
}

interface Price {
  readonly units: number;
  readonly unitsIfCached?: number;
  readonly unitsPerKiB?: number;
  readonly unitsPer100Signers?: number;
}

function describeUnits({ units, unitsIfCached, unitsPerKiB, unitsPer100Signers }: Price): string {
  return [
    unitsIfCached === undefined ? String(units) : `${units}, cached ${unitsIfCached}`,
    ...(unitsPerKiB === undefined ? [] : [`+${unitsPerKiB} per KiB`]),
    ...(unitsPer100Signers === undefined ? [] : [`+${unitsPer100Signers} per 100 validators`]),
  ].join(', ');
}
