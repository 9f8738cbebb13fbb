import type { TracesConfig } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_SERVICE_NAME = 'warp-signature-aggregator';
/** The specification's default: a collector on the same host. */
const DEFAULT_ENDPOINT = 'http://localhost:4318';
const TRACES_PATH = 'v1/traces';
const DEFAULT_TIMEOUT_MS = 10_000;
/** A batch that takes longer holds up all those behind it. */
const MAX_TIMEOUT_MS = 60_000;
const DEFAULT_SAMPLER = 'parentbased_always_on';

/**
 * Whether and where traces are exported, by the standard variables of OpenTelemetry. As the specification says, a value that cannot be
 * used stops nothing: there is a line for it in `ignored`, without the value, which may be a secret.
 */
export function readTraceVariables(environment: Environment): TracesConfig {
  const ignored: string[] = [];
  return { ignored, exported: readExport(environment, ignored) };
}

function readExport(environment: Environment, ignored: string[]): TracesConfig['exported'] {
  // An empty variable is one that is not set.
  const text = (name: string): string | undefined => environment[name]?.trim() || undefined;
  /** Of the traces alone, or of all signals. */
  const ofExporter = (name: string) => {
    const [own, all] = [`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`];
    const variable = text(own) === undefined ? all : own;
    return { variable, isOwn: variable === own, value: text(variable) };
  };

  if (text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const exporter = text('OTEL_TRACES_EXPORTER')?.toLowerCase();
  if (exporter === 'none') return undefined;
  const endpoint = ofExporter('ENDPOINT');
  // Without any of the two there is nobody who wants traces.
  if (exporter === undefined && endpoint.value === undefined) return undefined;
  if (exporter !== undefined && exporter !== 'otlp') {
    ignored.push('OTEL_TRACES_EXPORTER: there is no exporter but otlp; traces are off');
    return undefined;
  }
  const protocol = ofExporter('PROTOCOL');
  if (protocol.value !== undefined && protocol.value !== 'http/protobuf') {
    ignored.push(`${protocol.variable}: http/protobuf is the only protocol here; traces are off`);
    return undefined;
  }
  const url = parseUrl(endpoint.value ?? DEFAULT_ENDPOINT, endpoint.isOwn);
  if (url === undefined) {
    ignored.push(`${endpoint.variable}: is no http or https URL without user and password; traces are off`);
    return undefined;
  }
  const compression = ofExporter('COMPRESSION');
  if (compression.value !== undefined && !['gzip', 'none'].includes(compression.value)) {
    ignored.push(`${compression.variable}: must be gzip or none; nothing is compressed`);
  }
  const headers = ofExporter('HEADERS');
  const resource = parsePairs(text('OTEL_RESOURCE_ATTRIBUTES'), 'OTEL_RESOURCE_ATTRIBUTES', ignored);
  return {
    url,
    headers: parseHeaders(headers.value, headers.variable, ignored),
    timeoutMs: parseTimeout(ofExporter('TIMEOUT'), ignored),
    isCompressed: compression.value === 'gzip',
    resource: {
      'service.name': DEFAULT_SERVICE_NAME,
      ...resource,
      ...(text('OTEL_SERVICE_NAME') !== undefined && { 'service.name': text('OTEL_SERVICE_NAME') as string }),
    },
    sampling: parseSampling(text('OTEL_TRACES_SAMPLER'), text('OTEL_TRACES_SAMPLER_ARG'), ignored),
  };
}

/** @param isWhole whether the path is there already */
function parseUrl(text: string, isWhole: boolean): string | undefined {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    return undefined;
  }
  if (!isWhole) url.pathname = `${url.pathname.replace(/\/+$/, '')}/${TRACES_PATH}`;
  return url.href;
}

function parseTimeout({ variable, value }: { variable: string; value: string | undefined }, ignored: string[]): number {
  if (value === undefined) return DEFAULT_TIMEOUT_MS;
  const timeoutMs = /^\d{1,6}$/.test(value) ? Number(value) : 0;
  if (timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  ignored.push(`${variable}: must be from 1 to ${MAX_TIMEOUT_MS} milliseconds; it is ${DEFAULT_TIMEOUT_MS}`);
  return DEFAULT_TIMEOUT_MS;
}

/** `name=value` with commas between them, percent-encoded. */
function parsePairs(text: string | undefined, variable: string, ignored: string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const pair of (text ?? '').split(',').filter((part) => part.trim() !== '')) {
    const separator = pair.indexOf('=');
    try {
      const name = decodeURIComponent(pair.slice(0, Math.max(0, separator)).trim());
      if (name === '') throw new URIError('no name');
      pairs[name] = decodeURIComponent(pair.slice(separator + 1).trim());
    } catch {
      ignored.push(`${variable}: has a part that is not name=value, percent-encoded; that part is left out`);
    }
  }
  return pairs;
}

function parseHeaders(text: string | undefined, variable: string, ignored: string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parsePairs(text, variable, ignored)).filter(([name, value]) => {
      const isUsable = /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value);
      if (!isUsable) ignored.push(`${variable}: has a header that cannot be sent; it is left out`);
      return isUsable;
    }),
  );
}

type Sampling = NonNullable<TracesConfig['exported']>['sampling'];

function parseSampling(sampler = DEFAULT_SAMPLER, argument: string | undefined, ignored: string[]): Sampling {
  const isParentBased = sampler.startsWith('parentbased_');
  switch (isParentBased ? sampler.slice('parentbased_'.length) : sampler) {
    case 'always_on':
      return { ratio: 1, isParentBased };
    case 'always_off':
      return { ratio: 0, isParentBased };
    case 'traceidratio':
      return { ratio: parseRatio(argument, ignored), isParentBased };
    default:
      ignored.push(`OTEL_TRACES_SAMPLER: there is no such sampler; it is ${DEFAULT_SAMPLER}`);
      return { ratio: 1, isParentBased: true };
  }
}

function parseRatio(text: string | undefined, ignored: string[]): number {
  if (text === undefined) return 1;
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  ignored.push('OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1; it is 1');
  return 1;
}
