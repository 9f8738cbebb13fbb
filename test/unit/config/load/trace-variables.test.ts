import { expect, test } from 'vitest';
import { readTraceVariables } from '../../../../src/config/load/trace-variables.ts';
import { BASE, configOf } from './config-fixture.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' };
const DEFAULT_SAMPLING = { ratio: 1, isParentBased: true };

test('OpenTelemetry’s variables are part of the configuration', () => {
  expect(configOf(BASE, {}, ENDPOINT).traces).toEqual({ sampling: DEFAULT_SAMPLING, ignored: [] });
  expect(configOf(BASE).traces).toEqual({ sampling: undefined, ignored: [] });
});

test.each<[Record<string, string>]>([
  [{}],
  [{ OTEL_SERVICE_NAME: 'name', OTEL_TRACES_SAMPLER: 'always_on' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
  [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
  [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
])('%j leave traces off', (environment) => {
  expect(readTraceVariables(environment)).toEqual({ sampling: undefined, ignored: [] });
});

test.each<[Record<string, string>, object]>([
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, DEFAULT_SAMPLING],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces.example/here' }, DEFAULT_SAMPLING],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'always_on' },
    { ratio: 1, isParentBased: false },
  ],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'always_off' },
    { ratio: 0, isParentBased: false },
  ],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'parentbased_always_off' },
    { ratio: 0, isParentBased: true },
  ],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
    { ratio: 0.25, isParentBased: false },
  ],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '1e-3' },
    { ratio: 0.001, isParentBased: true },
  ],
])('the trace variables %j are read', (environment, expected) => {
  expect(readTraceVariables(environment)).toEqual({ sampling: expected, ignored: [] });
});

test.each<[Record<string, string>, string, object | undefined]>([
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER', undefined],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL', undefined],
  [
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://user:secret@collector.example' },
    ...(['OTEL_EXPORTER_OTLP_ENDPOINT', undefined] as const),
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }, 'OTEL_EXPORTER_OTLP_ENDPOINT', undefined],
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, 'OTEL_TRACES_SAMPLER', DEFAULT_SAMPLING],
  [
    { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
    'OTEL_TRACES_SAMPLER_ARG',
    DEFAULT_SAMPLING,
  ],
])('%j are reported by the name %s, and turn traces off or are replaced', (environment, name, sampling) => {
  const read = readTraceVariables({ ...ENDPOINT, ...environment });
  expect(read.ignored).toEqual([expect.stringMatching(`^${name}: `)]);
  expect(read.ignored.join()).not.toContain('secret');
  expect(read.sampling).toEqual(sampling);
});
