import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLogLines } from '../../support/log-lines.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { sendJson, startStandIn } from '../proxy/stand-in.ts';
import { type RunningService, startService } from './running-service.ts';

const VALIDATORS = 10;
const ROUTE = '/v1/signatureAggregator/:network/aggregateSignatures';
const CALLER_TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';
const TRACEPARENT = `00-${CALLER_TRACE}-${CALLER_SPAN}-01`;
/** A service with ten validators needs some seconds to start on a busy machine. */
const TIMEOUT_MS = 60_000;

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await receiver[Symbol.asyncDispose]();
});

const named = (name: string) => receiver.spans.filter((span) => span.name === name);
function only(name: string): ReceivedSpan {
  const found = named(name);
  expect(found, name).toHaveLength(1);
  return found[0] as ReceivedSpan;
}
const isChildOf = (parent: ReceivedSpan) => (span: ReceivedSpan) =>
  span.parentID === parent.spanID && span.traceID === parent.traceID;

/** The SDK reads the environment of the process. */
function environment() {
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SERVICE_NAME: 'under-test' };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  return variables;
}

/** Until every span is sent. */
async function stop(service: RunningService): Promise<void> {
  await service[Symbol.asyncDispose]();
}

describe('traces', () => {
  test(
    'one POST is a trace of its resolving, its questions to validators, its BLS jobs and its API calls',
    async () => {
      const log = createLogLines();
      const service = await startService(VALIDATORS, {
        // Audits are no part of the request that brought them about.
        settings: { environment: environment(), logger: log.logger, internals: { bls: { auditPercentage: 100 } } },
      });
      const [message] = service.devnet.emitMessages(1);
      const answer = await service.post({ message }, undefined, { traceparent: TRACEPARENT, 'x-request-id': 'req-1' });
      expect(answer.status).toBe(201);
      await log.until('"msg":"request"');
      await stop(service);

      expect(receiver.requests[0]).toMatchObject({ path: '/v1/traces' });
      const server = only(`POST ${ROUTE}`);
      expect(server).toMatchObject({ traceID: CALLER_TRACE, parentID: CALLER_SPAN, kind: 2, status: 0 });
      expect(server.attributes).toEqual({
        'http.request.method': 'POST',
        'http.route': ROUTE,
        'http.response.status_code': 201,
        'request.id': 'req-1',
        network: 'fuji',
      });
      expect(server.resource).toMatchObject({ 'service.name': 'under-test', 'service.version': expect.any(String) });

      const resolve = only('resolve');
      const flight = only('collect signatures');
      expect([resolve, flight].every(isChildOf(server))).toBe(true);
      expect(flight.attributes).toMatchObject({ validators: VALIDATORS });
      expect(server.links).toEqual([{ traceID: flight.traceID, spanID: flight.spanID }]);

      const asked = named('app request');
      expect(asked.every(isChildOf(flight))).toBe(true);
      expect(asked.every(({ kind }) => kind === 3)).toBe(true);
      const signed = asked.filter(({ attributes }) => attributes['outcome'] === 'signed');
      const signers = signed.map(({ attributes }) => attributes['peer.node_id']);
      expect(signers).toEqual(expect.arrayContaining(answer.body['signers'] as string[]));

      const jobs = receiver.spans.filter(({ name }) => name.startsWith('bls '));
      expect(jobs.every(isChildOf(flight))).toBe(true);
      expect(new Set(jobs.map(({ name }) => name))).toEqual(new Set(['bls hash', 'bls add', 'bls aggregate']));
      const calls = receiver.spans.filter(({ name }) => name.startsWith('platform.'));
      expect(calls.filter(isChildOf(resolve)).map(({ name }) => name)).toContain('platform.validatedBy');

      const line = log.lines.find((text) => text.includes('"msg":"request"'));
      expect(JSON.parse(line as string)).toMatchObject({ requestId: 'req-1', traceId: CALLER_TRACE });
    },
    TIMEOUT_MS,
  );

  test(
    'an upstream gets the trace context, and the span of the request to it',
    async () => {
      await using standIn = await startStandIn();
      const upstream = { dataApi: { fuji: { baseUrl: standIn.baseUrl } } };
      const service = await startService(3, { settings: { environment: environment(), upstream } });
      const path = '/v1/networks/fuji/validators?pageSize=3';
      const headers = { traceparent: TRACEPARENT, tracestate: 'vendor=1' };
      expect((await fetch(`${service.app.url}${path}`, { headers })).status).toBe(200);
      standIn.behaviour = (_request, response) => sendJson(response, 500, { message: 'broken' });
      expect((await fetch(`${service.app.url}${path}&pageToken=other`, { headers })).status).toBe(500);
      await stop(service);

      const servers = named('GET /v1/networks/:network/validators');
      const asked = named('upstream fuji');
      expect(asked.map(({ parentID }) => parentID)).toEqual(servers.map(({ spanID }) => spanID));
      expect(asked.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([200, 500]);
      expect(standIn.arrivals.map((arrival) => arrival.headers)).toMatchObject(
        asked.map(({ spanID }) => ({ traceparent: `00-${CALLER_TRACE}-${spanID}-01`, tracestate: 'vendor=1' })),
      );
      expect(servers.map(({ status }) => status)).toEqual([0, 2]);
    },
    TIMEOUT_MS,
  );
});
