import { expect, test, vi } from 'vitest';
import { createLogLines } from '../../support/log-lines.ts';
import { type ReceivedSpan, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { startService } from './running-service.ts';

const VALIDATORS = 10;
const ROUTE = '/v1/signatureAggregator/:network/aggregateSignatures';
const CALLER_TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';
const TRACEPARENT = `00-${CALLER_TRACE}-${CALLER_SPAN}-01`;

const isChildOf = (parent: ReceivedSpan) => (span: ReceivedSpan) =>
  span.parentID === parent.spanID && span.traceID === parent.traceID;

test('one POST is a trace of its resolving, its questions to validators, its BLS jobs and its API calls', async () => {
  await using receiver = await startOtlpReceiver();
  const named = (name: string) => receiver.spans.filter((span) => span.name === name);
  const only = (name: string): ReceivedSpan => {
    const found = named(name);
    expect(found, name).toHaveLength(1);
    return found[0] as ReceivedSpan;
  };
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SERVICE_NAME: 'under-test' };
  // The SDK reads the environment of the process.
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const log = createLogLines();
  const service = await startService(VALIDATORS, {
    // Audits are no part of the request that brought them about.
    settings: { environment, logger: log.logger, limits: { auditPercentage: 100 } },
  });
  const [message] = service.devnet.emitMessages(1);
  const answer = await service.post({ message }, undefined, { traceparent: TRACEPARENT, 'x-request-id': 'req-1' });
  expect(answer.status).toBe(201);
  await log.until('"msg":"request"');
  await service[Symbol.asyncDispose]();

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

  const line = log.records().find(({ msg }) => msg === 'request');
  expect(line).toMatchObject({ requestId: 'req-1', traceId: CALLER_TRACE });
});
