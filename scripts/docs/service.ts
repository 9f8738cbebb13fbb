import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { type Metric, Registry } from 'prom-client';
import { describeRelease } from '../../src/api/openapi/docs-page.ts';
import { startApp } from '../../src/app/app.ts';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { createDistributedSingleFlight } from '../../src/store/redis/distributed-single-flight.ts';
import type { SharedStore } from '../../src/store/redis/shared-store.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createMetrics, METRIC_PREFIX } from '../../src/telemetry/metrics.ts';

export interface ServedRoute {
  /** Method and path, such as `GET /v1/networks/{network}`. */
  readonly name: string;
  readonly group: string;
  readonly units: string;
  readonly summary: string;
  /** Undefined if the OpenAPI document leaves the route out. */
  readonly operationID: string | undefined;
}

export interface RegisteredMetric {
  readonly name: string;
  readonly kind: string;
  readonly labels: readonly string[];
  readonly help: string;
}

const START_TIMEOUT_MS = 60_000;
/** Nothing listens there; the service starts without its store, its upstream and its collector. */
const NOWHERE = '127.0.0.1:1';
/** Every part of the service that has metrics or routes. */
const CONFIG = {
  networks: {
    local: {
      embedded: { validators: 5 },
      feed: { chains: [{ blockchainId: 'C' }] },
      goApi: { apiPort: 0, metricsPort: 0 },
    },
  },
  server: { port: 0 },
  store: { sharedUrl: `redis://${NOWHERE}`, sharedSecret: 'sixteen letters!' },
  upstream: { metrics: { baseUrl: `http://${NOWHERE}` } },
};

/** Routes that the OpenAPI document leaves out, and that therefore have no summary in their schema. */
const SUMMARIES_OF_HIDDEN: ReadonlyMap<string, string> = new Map([
  ['GET /metrics', 'Metrics in the format of Prometheus'],
  ['GET /openapi.json', 'The OpenAPI 3.1 document of the service'],
  ['GET /docs', 'A page to read it and to try it'],
  ['GET /', 'The console for browsers; the names of the networks as JSON for programs'],
  ['GET /console/{file}', 'The files of the console'],
  ['GET /console/facts', 'What the console needs to know: networks, version, the meaning of each error code'],
  ['GET /console/chains/{network}', 'IDs of the chains of the primary network, by their names, for the console'],
  [
    'GET /console/activity',
    'Figures of the service over the last hour, for the console; with `metrics.port`, a route of `operate` for 1 unit',
  ],
  ['GET /aggregate-signatures', 'The same with any other method, as the body decides'],
  ['GET /{network}/aggregate-signatures', 'The same with any other method'],
  ['GET /v1/*', 'Any other GET of the data API, passed on with only its form checked, unless `passUnknown` is off'],
]);

let described: ReturnType<typeof startAndDescribe> | undefined;

/** Starts the service on the devnet with every optional part, and reads its metrics and routes as they were registered. */
export function describeService(): ReturnType<typeof startAndDescribe> {
  described ??= startAndDescribe();
  return described;
}

interface DescribedService {
  readonly routes: ServedRoute[];
  readonly metrics: RegisteredMetric[];
  readonly openApi: object;
}

async function startAndDescribe(): Promise<DescribedService> {
  const routesOf = new Map<unknown, RouteOptions[]>();
  let routes: readonly RouteOptions[] = [];
  const onServer = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    const ofServer: RouteOptions[] = [];
    routesOf.set(fastify, ofServer);
    fastify.addHook('onRoute', (options) => void ofServer.push(options));
  };
  const metrics = new Map<string, RawMetric>();
  const { registerMetric } = Registry.prototype;
  Registry.prototype.registerMetric = function (metric) {
    const raw = metric as Metric & RawMetric;
    metrics.set(raw.name, raw);
    registerMetric.call(this, metric);
  };
  subscribe('fastify.initialization', onServer);
  try {
    const { config } = parseConfig(CONFIG, {}, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${NOWHERE}` });
    await using app = await startApp({
      config,
      logger: createLogger('silent'),
      clock: systemClock,
      random: Math.random,
    });
    await app.untilReady(AbortSignal.timeout(START_TIMEOUT_MS));
    // It has all routes; those of the Go aggregator's ports are among them.
    routes = routesOf.get(app.server) ?? [];
    declareSharedMetrics();
  } finally {
    unsubscribe('fastify.initialization', onServer);
    Registry.prototype.registerMetric = registerMetric;
  }
  const served = routes.flatMap(readRoute).map((route) => [route.name, route] as const);
  return {
    openApi: await describeRelease(routes),
    routes: [...new Map(served).values()],
    metrics: [...metrics.values()]
      .filter(({ name }) => name.startsWith(METRIC_PREFIX))
      // The type is set after a metric was registered.
      .map(({ name, help, labelNames, type }) => ({ name, kind: type, labels: labelNames, help }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** The devnet shares nothing but limits through Redis, so the metrics of a network that does are declared here. */
function declareSharedMetrics(): void {
  createDistributedSingleFlight({
    store: {} as SharedStore,
    networkID: 1,
    networkName: '',
    clock: systemClock,
    logger: createLogger('silent'),
    metrics: createMetrics(new Registry()).with({ network: '' }),
  });
}

interface RawMetric {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly type: string;
}

const OTHER_UNIT = /_(ms|millis|milliseconds|minutes|hours|days|kb|mb|kib|mib|percent|percentage)(_|$)/;

/** A sentence for each metric whose name breaks a naming rule of Prometheus. */
export function misnamedMetrics(metrics: readonly Pick<RegisteredMetric, 'name' | 'kind'>[]): string[] {
  return metrics.flatMap(({ name, kind }) => [
    ...((kind === 'counter') === name.endsWith('_total') ? [] : [`${name}: counters end in _total, and no others.`]),
    ...(OTHER_UNIT.test(name) ? [`${name}: metrics are in seconds, bytes and ratios.`] : []),
    ...(/_duration(?!_seconds)/.test(name) ? [`${name}: durations end in _seconds.`] : []),
  ]);
}

function readRoute({ method, url, schema, config }: RouteOptions): ServedRoute[] {
  // Fastify writes a literal colon as two.
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
  readonly unitsPerValidator?: number;
  readonly unitsPer100Messages?: number;
  readonly stream?: { readonly units: number; readonly unitsPerMinute: number };
}

function describeUnits(price: Price): string {
  const { units, unitsIfCached, unitsPerKiB, unitsPer100Signers, unitsPer100Messages, unitsPerValidator, stream } =
    price;
  return [
    unitsIfCached === undefined ? String(units) : `${units}, cached ${unitsIfCached}`,
    ...(unitsPerKiB === undefined ? [] : [`+${unitsPerKiB} per KiB`]),
    ...(unitsPerValidator === undefined ? [] : [`+${unitsPerValidator} per validator`]),
    ...(unitsPer100Signers === undefined ? [] : [`+${unitsPer100Signers} per 100 validators`]),
    ...(unitsPer100Messages === undefined ? [] : [`+${unitsPer100Messages} per 100 messages`]),
    ...(stream === undefined ? [] : [`stream ${stream.units}, +${stream.unitsPerMinute} per minute`]),
  ].join(', ');
}
