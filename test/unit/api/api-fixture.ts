import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect } from 'vitest';
import type { Aggregator } from '../../../src/aggregator/aggregate.ts';
import type { AggregationRequest, AggregationResult } from '../../../src/aggregator/aggregation-request.ts';
import type { L1Messages } from '../../../src/aggregator/l1-messages.ts';
import type { Readiness } from '../../../src/aggregator/validator-connections.ts';
import type { Server } from '../../../src/api/http-server.ts';
import { createServer } from '../../../src/api/server.ts';
import { systemClock } from '../../../src/primitives/clock.ts';
import { nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../../../src/primitives/ids.ts';
import { createLogger, type Logger } from '../../../src/telemetry/logger.ts';

export const PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
export const NODE_ID = nodeIDFromBytes(new Uint8Array(20).fill(9));

export const RESULT: AggregationResult = {
  signedMessage: Uint8Array.of(0xab, 0x01, 0xff),
  signingSubnetID: PRIMARY_NETWORK_ID,
  pChainHeight: 7n,
  signedWeight: 80n,
  totalWeight: 100n,
  signers: [],
};

/** An aggregator that does as the test says and remembers what it was asked. */
export function scriptedAggregator(
  answer: (request: AggregationRequest, signal: AbortSignal) => Promise<AggregationResult> = async () => RESULT,
) {
  const asked: AggregationRequest[] = [];
  const aggregator: Aggregator = {
    aggregate(request, signal) {
      asked.push(request);
      return answer(request, signal);
    },
  };
  return { aggregator, asked };
}

/** Of a service whose P-Chain nobody asks. */
const NO_L1_MESSAGES: L1Messages = {
  ofTransaction: () => Promise.reject(new Error('no transaction was expected')),
  ofJustification: () => Promise.reject(new Error('no lone justification was expected')),
};

export interface TestServerOptions {
  readonly aggregator?: Aggregator;
  readonly l1Messages?: L1Messages;
  readonly readiness?: () => Readiness;
  readonly registry?: Registry;
  readonly logger?: Parameters<typeof createServer>[0]['logger'];
  readonly registerMore?: (server: Server) => void;
}

export function createTestServer({
  aggregator = scriptedAggregator().aggregator,
  l1Messages = NO_L1_MESSAGES,
  readiness = () => ({ isReady: true, subnets: [] }),
  registry = new Registry(),
  logger = createLogger('silent'),
  registerMore,
}: TestServerOptions = {}): Promise<Server> {
  return createServer({
    aggregator,
    l1Messages,
    networks: ['fuji', 'testnet'],
    nodeID: NODE_ID,
    readiness,
    registry,
    logger,
    clock: systemClock,
    drainTimeoutMs: 1_000,
    ...(registerMore && { registerMore }),
  });
}

/** The exact form of every error: these keys in this order, and nothing that tells of the inside. */
export function expectError(
  response: { statusCode: number; body: string; headers: Record<string, unknown> },
  status: number,
  message: string | RegExp,
): unknown {
  const body = JSON.parse(response.body) as Record<string, unknown>;
  const reasons: Record<number, string> = {
    400: 'Bad Request',
    404: 'Not Found',
    500: 'Internal Server Error',
    502: 'Bad Gateway',
    503: 'Service Unavailable',
  };
  expect({ status: response.statusCode, ...body }).toMatchObject({
    status,
    statusCode: status,
    error: reasons[status],
  });
  if (typeof message === 'string') expect(body['message']).toBe(message);
  else expect(body['message']).toMatch(message);
  expect(Object.keys(body)).toEqual(['message', 'statusCode', 'error', ...('details' in body ? ['details'] : [])]);
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(response.body).not.toMatch(/\bat .*\.[jt]s:\d+|node_modules|"stack"/);
  return body['details'];
}

/** A logger, and what it has written. */
export function recordingLogger(): { logger: Logger; lines: () => { level: number; msg: string; err?: object }[] } {
  const written: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void written.push(line) });
  return { logger, lines: () => written.map((line) => JSON.parse(line)) };
}

/** Of a listening server. */
export function portOf(server: Server): number {
  const address = server.server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server listens on no port');
  return address.port;
}
