import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { currentSpan, inSpan, NO_SPAN, NO_TRACER, type Span, within } from '../../../src/telemetry/spans.ts';
import { createSampler } from '../../../src/telemetry/trace-sdk.ts';
import { createMemorySpans } from './memory-spans.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

test('spans have their kind, parent, attributes, links and failures', () => {
  const { tracer, only } = createMemorySpans();
  const root = tracer.root('request', 'server', { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'a=1' });
  const other = tracer.root('other', 'server', {});
  const child = root.child('ask', 'client');
  child.set('count', 3);
  child.fail(`no answer${'!'.repeat(1_000)}`);
  root.link(other);
  expect(root.traceID).toBe(TRACE);
  for (const span of [child, root, other]) span.end();

  expect(only('request')).toMatchObject({
    kind: SpanKind.SERVER,
    parentSpanContext: { traceId: TRACE, spanId: PARENT },
    links: [{ context: only('other').spanContext() }],
  });
  expect(only('ask')).toMatchObject({
    kind: SpanKind.CLIENT,
    parentSpanContext: only('request').spanContext(),
    attributes: { count: 3 },
    status: { code: SpanStatusCode.ERROR, message: `no answer${'!'.repeat(247)}` },
  });
  expect(child.headers).toEqual({
    traceparent: `00-${TRACE}-${only('ask').spanContext().spanId}-01`,
    tracestate: 'a=1',
  });
  expect(only('other').parentSpanContext).toBeUndefined();
});

test.each(['00-x', `00-${'0'.repeat(32)}-${PARENT}-01`, '', `${'a'.repeat(5_000)}`])(
  'spans of a request with the traceparent "%.20s" begin a trace',
  (traceparent) => {
    const { tracer, only } = createMemorySpans();
    tracer.root('request', 'server', { traceparent }).end();
    expect(only('request').parentSpanContext).toBeUndefined();
  },
);

test('spans follow asynchronous work, and end with it', async () => {
  const { tracer, only, ended } = createMemorySpans();
  const root = tracer.root('request', 'server', {});
  const error = new Error('broken');
  const failing = inSpan(root.child('outer'), async () => {
    await Promise.resolve();
    currentSpan().child('inner').end();
    throw error;
  });
  expect(currentSpan()).toBe(NO_SPAN);
  await expect(failing).rejects.toBe(error);
  expect(currentSpan()).toBe(NO_SPAN);
  expect(only('inner').parentSpanContext).toEqual(only('outer').spanContext());
  expect(only('outer').status).toEqual({ code: SpanStatusCode.ERROR, message: 'broken' });
  expect(ended('request')).toEqual([]);
});

test('spans of an unsampled trace are one, whose context is propagated', async () => {
  const { tracer, ended } = createMemorySpans(createSampler({ ratio: 1, isParentBased: true }));
  const root = tracer.root('request', 'server', { traceparent: `00-${TRACE}-${PARENT}-00` });
  expect(root.isRecorded).toBe(false);
  expect(root.child('ask')).toBe(root);
  await inSpan(root.child('work'), async () => expect(currentSpan()).toBe(root));
  expect([root.traceID, root.headers['traceparent']]).toEqual([TRACE, expect.stringMatching(`^00-${TRACE}-.*-00$`)]);
  const kept = tracer.root('kept', 'server', {});
  kept.link(root);
  root.end();
  kept.end();
  expect(ended().map(({ name, links }) => [name, links])).toEqual([['kept', []]]);
});

test('spans do nothing without tracing', async () => {
  const span: Span = NO_TRACER.root('request', 'server', { traceparent: `00-${TRACE}-${PARENT}-01` });
  expect(span).toBe(NO_SPAN);
  expect(span.child('more')).toBe(NO_SPAN);
  expect([span.traceID, span.isRecorded, span.headers]).toEqual([undefined, false, {}]);
  const work = Promise.resolve(7);
  expect(within(span, () => currentSpan())).toBe(NO_SPAN);
  expect(inSpan(span, () => work)).toBe(work);
  expect(await work).toBe(7);
});

const isKept = (sampling: { ratio: number; isParentBased: boolean }, flags?: '00' | '01') => {
  const { tracer } = createMemorySpans(createSampler(sampling));
  const headers = flags === undefined ? {} : { traceparent: `00-${TRACE}-${PARENT}-${flags}` };
  return tracer.root('request', 'server', headers).isRecorded;
};

test.each([
  [{ ratio: 1, isParentBased: true }, [true, true, false]],
  [{ ratio: 0, isParentBased: true }, [false, true, false]],
  [{ ratio: 1, isParentBased: false }, [true, true, true]],
  [{ ratio: 0, isParentBased: false }, [false, false, false]],
])(
  'the sampler %j samples new traces, traces of sampling clients, and traces of other clients: %j',
  (sampling, expected) => {
    expect([isKept(sampling), isKept(sampling, '01'), isKept(sampling, '00')]).toEqual(expected);
  },
);

test('the sampler decides by the trace ID for a ratio', () => {
  const { tracer } = createMemorySpans(createSampler({ ratio: 0.5, isParentBased: false }));
  const decide = (traceID: string) =>
    tracer.root('request', 'server', { traceparent: `00-${traceID}-${PARENT}-01` }).isRecorded;
  expect([decide(`${'0'.repeat(31)}1`), decide(`${'0'.repeat(24)}ffffffff`)]).toEqual([true, false]);
});
