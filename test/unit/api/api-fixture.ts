import { STATUS_CODES } from 'node:http';
import { Registry } from 'prom-client';
import { expect } from 'vitest';
import type { AggregationRequest, AggregationResult } from '../../../src/aggregation/request/aggregation-request.ts';
import type { Aggregator } from '../../../src/aggregation/stages/aggregator.ts';
import { NO_WEIGHTS } from '../../../src/aggregation/validators/validator-outcome.ts';
import { RequestHistory } from '../../../src/api/requests/request-history.ts';
import { createServer, type ServerOptions } from '../../../src/api/server.ts';
import type { AccessOptions, AccessRules } from '../../../src/http/access/access.ts';
import { ERROR_CODES, type ErrorCode } from '../../../src/http/errors/error-codes.ts';
import type { Server } from '../../../src/http/request/http-server.ts';
import { RequestBodies } from '../../../src/http/server/request-bodies.ts';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import type { Network, NetworkReadiness } from '../../../src/network/network.ts';
import { createMemoryLimitCounters } from '../../../src/store/local/limit-counters.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import { NO_TRACER } from '../../../src/telemetry/spans.ts';
import { nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';

export const PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
export const NODE_ID = nodeIDFromBytes(new Uint8Array(20).fill(9));

export const RESULT: AggregationResult = {
  signedMessage: Uint8Array.of(0xab, 0x01, 0xff),
  signingSubnetID: PRIMARY_NETWORK_ID,
  pChainHeight: 7n,
  signedWeight: 80n,
  totalWeight: 100n,
  weights: { ...NO_WEIGHTS, signed: 80n, not_asked: 20n },
  signers: [],
};

type Answer = (request: AggregationRequest, signal: AbortSignal) => Promise<AggregationResult>;

/** An aggregator that does as the test says and remembers what it was asked. */
export function scriptedAggregator(answer: Answer = async () => RESULT) {
  const asked: AggregationRequest[] = [];
  const aggregator: Aggregator = {
    async aggregate(request, options) {
      asked.push(request);
      await options.onCacheMiss?.();
      return answer(request, options.signal);
    },
  };
  return { aggregator, asked };
}

/** One server for many tests, because its creation takes longer than most of them. `script` sets what its aggregator does from then on. */
export async function createScriptedServer(options: TestServerOptions = {}) {
  let aggregator: Aggregator;
  const server = await createTestServer({
    aggregator: { aggregate: (request, how) => aggregator.aggregate(request, how) },
    ...options,
  });
  function script(answer?: Answer): AggregationRequest[] {
    const scripted = scriptedAggregator(answer);
    aggregator = scripted.aggregator;
    return scripted.asked;
  }
  script();
  return { server, script };
}

/** Limits of a service without keys. */
export function limitedTo(
  unitsPerMinute: number | undefined,
  clock: Clock = new FakeClock(),
  more: Partial<AccessRules> = {},
): AccessOptions {
  const rules = { apiKeys: [], unitsPerMinute, ...more };
  return { rules, trustedProxies: [], limits: createMemoryLimitCounters(clock) };
}

export const UP: NetworkReadiness = {
  name: 'fuji',
  status: 'up',
  reason: undefined,
  networkID: 5,
  nodeID: NODE_ID,
  subnets: [],
};

/** Stands for a part that the test does not use. */
const NOT_SCRIPTED = {} as never;

/** A network that does as the test says. */
export function scriptedNetwork({ pathNames = ['fuji', 'testnet'], ...scripted }: Partial<Network> = {}): Network {
  return {
    name: pathNames[0] ?? '',
    pathNames,
    defaultDestination: 'none',
    goApi: { pChainMessages: 'proposed' },
    aggregator: scriptedAggregator().aggregator,
    readiness: () => UP,
    subnets: NOT_SCRIPTED,
    verifier: NOT_SCRIPTED,
    uptimes: NOT_SCRIPTED,
    subnetUptimes: NOT_SCRIPTED,
    validations: NOT_SCRIPTED,
    destinations: NOT_SCRIPTED,
    feed: NOT_SCRIPTED,
    primaryChains: NOT_SCRIPTED,
    record: undefined,
    untilUp: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
    ...scripted,
  };
}

export interface ListenerOptions {
  readonly registry?: Registry;
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  readonly bodies?: RequestBodies;
}

/** What every listener takes: no limits, and nothing logged. */
export function listenerOptions({
  registry = new Registry(),
  clock = systemClock,
  metrics = createMetrics(registry),
  bodies = new RequestBodies({ clock, metrics }),
}: ListenerOptions = {}) {
  const requests = new RequestHistory(clock);
  return {
    registry,
    metrics,
    clock,
    requests,
    onRecordedEnd: requests.onRecordedEnd,
    logger: createLogger('silent'),
    tracer: NO_TRACER,
    access: limitedTo(undefined, clock),
    bodies,
    corsOrigins: [],
    maxConnections: 1_000,
    drainTimeoutMs: 1_000,
    isStopping: () => false,
    identityProblem: () => undefined,
    areMetricsElsewhere: false,
    version: '1.2.3',
  };
}

export type TestServerOptions = Partial<ServerOptions> & { readonly aggregator?: Aggregator };

export function createTestServer({
  aggregator = scriptedAggregator().aggregator,
  ...options
}: TestServerOptions = {}): Promise<Server> {
  return createServer({
    networks: [scriptedNetwork({ aggregator })],
    ...listenerOptions(options),
    ...options,
  });
}

/** The same schema, which also refuses fields that it does not name. */
export function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return 'properties' in copy ? { ...copy, additionalProperties: false } : copy;
}

/** The exact form of every error: these keys in this order, and nothing that tells of the inside. */
export function expectError(
  response: { statusCode: number; body: string; headers: Record<string, unknown> },
  status: number,
  message: string | RegExp,
  code?: ErrorCode,
): unknown {
  const body = JSON.parse(response.body) as Record<string, unknown>;
  expect({ status: response.statusCode, ...body }).toMatchObject({
    status,
    statusCode: status,
    error: STATUS_CODES[status],
  });
  if (typeof message === 'string') expect(body['message']).toBe(message);
  else expect(body['message']).toMatch(message);
  const names = ['message', 'statusCode', 'error', 'code'];
  expect(Object.keys(body)).toEqual('details' in body ? [...names, 'details'] : names);
  expect(Object.keys(ERROR_CODES)).toContain(body['code']);
  if (code !== undefined) expect(body['code']).toBe(code);
  expect(response.headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^[\x21-\x7e]{1,128}$/),
  });
  expect(response.headers['content-type']).toBe('application/json');
  expect(response.body).not.toMatch(/\bat .*\.[jt]s:\d+|node_modules|"stack"/);
  return body['details'];
}

/** Returns the port of a listening server. */
export function portOf(server: Server): number {
  const address = server.server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server listens on no port');
  return address.port;
}
