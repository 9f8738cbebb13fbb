import type { TraceSampling } from '../../telemetry/tracer-options.ts';
import type { Environment } from '../schema/variables.ts';
import type { TracesConfig } from '../settings.ts';

const DEFAULT_SAMPLER = 'parentbased_always_on';

/**
 * Reads from OpenTelemetry's standard variables whether traces are exported, and which; its SDK reads the others. An unusable value is
 * not an error: `ignored` has a line for it, without the value, which may be a secret.
 */
export function readTraceVariables(environment: Environment): TracesConfig {
  // An empty variable counts as not set.
  const text = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const ofExporter = (name: string): string | undefined =>
    text(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? text(`OTEL_EXPORTER_OTLP_${name}`);
  const off = (...ignored: string[]): TracesConfig => ({ sampling: undefined, ignored });

  const exporter = text('OTEL_TRACES_EXPORTER')?.toLowerCase();
  const endpoint = ofExporter('ENDPOINT');
  const isWanted = exporter !== undefined || endpoint !== undefined;
  if (!isWanted || exporter === 'none' || text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return off();
  if ((exporter ?? 'otlp') !== 'otlp') return off('OTEL_TRACES_EXPORTER: otlp is the only exporter; traces are off');
  if ((ofExporter('PROTOCOL') ?? 'http/protobuf') !== 'http/protobuf') {
    return off('OTEL_EXPORTER_OTLP_PROTOCOL: http/protobuf is the only protocol; traces are off');
  }
  if (endpoint !== undefined && !isUsable(endpoint)) {
    return off('OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL of http or https without user and password; traces are off');
  }
  const ignored: string[] = [];
  const sampling = parseSampling(text('OTEL_TRACES_SAMPLER'), text('OTEL_TRACES_SAMPLER_ARG'), ignored);
  return { sampling, ignored };
}

function isUsable(endpoint: string): boolean {
  const url = URL.parse(endpoint);
  return url !== null && ['http:', 'https:'].includes(url.protocol) && url.username === '' && url.password === '';
}

function parseSampling(sampler = DEFAULT_SAMPLER, argument: string | undefined, ignored: string[]): TraceSampling {
  const isParentBased = sampler.startsWith('parentbased_');
  switch (isParentBased ? sampler.slice('parentbased_'.length) : sampler) {
    case 'always_on':
      return { ratio: 1, isParentBased };
    case 'always_off':
      return { ratio: 0, isParentBased };
    case 'traceidratio': {
      const ratio = Number(argument ?? 1);
      if (ratio >= 0 && ratio <= 1) return { ratio, isParentBased };
      ignored.push('OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1; it is 1');
      return { ratio: 1, isParentBased };
    }
    default:
      ignored.push(`OTEL_TRACES_SAMPLER: there is no such sampler; it is ${DEFAULT_SAMPLER}`);
      return { ratio: 1, isParentBased: true };
  }
}
