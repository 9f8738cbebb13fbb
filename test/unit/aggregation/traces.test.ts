import { expect, test } from 'vitest';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { createMemorySpans } from '../telemetry/memory-spans.ts';
import { CHAIN, createHarness, MESSAGE, NETWORK_ID, nodeOf } from './aggregator-fixture.ts';
import { ANSWER_MS } from './collection/collection-fixture.ts';

const OTHER = createUnsignedMessage(NETWORK_ID, CHAIN, Uint8Array.of(2));

test('traces say what each validator did, and fail where the aggregation does', async () => {
  const { source, start, finish } = createHarness();
  const { tracer, only, ended } = createMemorySpans();
  const outcome = { kind: 'refused', code: 7, text: 'not mine' } as const;
  for (const number of [1, 2, 3]) source.add(nodeOf(number), () => ({ afterMs: ANSWER_MS, outcome }));
  const request = tracer.root('request', 'server', {});
  await finish(start({}, { span: request }).catch(() => undefined));

  const flight = only('collect signatures');
  expect(flight.status.message).toMatch(/weight/);
  const asked = ended('app request').filter(({ attributes }) => attributes['peer.node_id'] === nodeOf(1));
  expect(asked[0]?.parentSpanContext).toEqual(flight.spanContext());
  expect(asked.map(({ attributes }) => attributes)).toEqual(
    asked.map((_, index) => ({
      'peer.node_id': nodeOf(1),
      attempt: index + 1,
      outcome: 'refused',
      'refusal.code': 7,
      'refusal.text': 'not mine',
    })),
  );
  expect(only('resolve').parentSpanContext).toEqual(flight.parentSpanContext);
});

test('traces link to the flight that they share, and not to one that is over', async () => {
  const { start, finish } = createHarness();
  const { tracer, only, ended } = createMemorySpans();
  const requests = ['first', 'second', 'late'].map((name) => tracer.root(name, 'server', {}));
  const [first, second, late] = requests;
  await Promise.all([first, second].map((span) => finish(start({}, { span: span! }))));
  await finish(start({}, { span: late! }));
  for (const span of requests) span.end();

  const flight = only('collect signatures');
  expect(flight.parentSpanContext).toEqual(only('first').spanContext());
  const link = { context: flight.spanContext() };
  expect(['first', 'second', 'late'].map((name) => only(name).links)).toMatchObject([[link], [link], []]);
  expect(ended('resolve')).toHaveLength(3);
});

test('traces have each BLS job below the flight that it is done for, whichever request released its permit', async () => {
  const { start, finish } = createHarness({ maxQueriesInFlight: 1 });
  const { tracer, only, ended } = createMemorySpans();
  const run = async (name: string, message: typeof MESSAGE) => {
    const span = tracer.root(name, 'server', {});
    await finish(start({ message }, { span }));
    span.end();
  };
  await Promise.all([run('one', MESSAGE), run('other', OTHER)]);

  for (const name of ['one', 'other']) {
    const { traceId } = only(name).spanContext();
    const ofTrace = ended().filter((span) => span.spanContext().traceId === traceId);
    const jobs = ofTrace.filter((span) => span.name.startsWith('bls '));
    const signed = ofTrace.filter(({ attributes }) => attributes['outcome'] === 'signed');
    expect(jobs.filter((span) => span.name === 'bls add')).toHaveLength(signed.length);
    expect(jobs.map((span) => span.name)).toEqual(expect.arrayContaining(['bls hash', 'bls aggregate']));
  }
});
