import type { Row } from './benchmark.ts';
import type { LineChart, Series } from './line-chart.ts';

/** Which figures of which benchmark are drawn in one picture. */
interface Picture extends Pick<LineChart, 'title' | 'xLabel' | 'yLabel' | 'yScale'> {
  /** Without the ending. */
  readonly file: string;
  /** The label of a line, and the row and the figure in it that a point of it comes from. */
  readonly lines: Readonly<Record<string, RowOfSize & { readonly figure: string }>>;
}

/** The size that was measured stands in the row as `n`, or in its name before `what`. */
type RowOfSize = { readonly row: string } | { readonly sizeOf: string; readonly what: string };

const validators = (what: string, figure = 'ms') => ({ sizeOf: 'validators', what, figure });
const registrations = (what: string, figure: string) => ({ sizeOf: 'registrations', what, figure });
const connections = (what: string, figure: string) => ({ sizeOf: 'connections', what, figure });
const bytes = (what: string, figure: string) => ({ sizeOf: 'bytes', what, figure });
const badSigners = (backend: string) => ({
  'all good': { row: `${backend}, clean`, figure: 'ms' },
  '1 bad': { row: `${backend}, 1 bad`, figure: 'ms' },
  '10 bad': { row: `${backend}, 10 bad`, figure: 'ms' },
  'a third bad': { row: `${backend}, a third bad`, figure: 'ms' },
  'reference, all good': { row: 'reference, clean', figure: 'ms' },
});

const PICTURES: readonly Picture[] = [
  {
    file: 'service-requests',
    title: 'Time of a request, by the size of the validator set',
    xLabel: 'validators',
    yLabel: 'milliseconds',
    yScale: 'log',
    lines: {
      'first request of a set': validators('first request (keys undecoded)'),
      'distinct request': validators('distinct request'),
      'distinct, 16 in flight, each': validators('distinct, 16 in flight'),
      'repeated request': validators('repeated request'),
    },
  },
  {
    file: 'service-start',
    title: 'From the start of the process',
    xLabel: 'validators',
    yLabel: 'milliseconds',
    yScale: 'linear',
    lines: {
      listening: validators('listening'),
      'ready (67 % of the weight connected)': validators('ready (67 % connected)'),
    },
  },
  {
    file: 'service-memory',
    title: 'Memory of the service',
    xLabel: 'validators',
    yLabel: 'MiB (resident set)',
    yScale: 'linear',
    lines: {
      'when ready': validators('ready (67 % connected)', 'rss_mib'),
      'after the run': validators('after the run', 'rss_mib'),
    },
  },
  {
    file: 'http-throughput',
    title: 'Requests that were worked on, closed loop',
    xLabel: 'connections',
    yLabel: 'answers a second',
    yScale: 'log',
    lines: {
      'distinct messages': connections('distinct, closed loop', 'signed_per_s'),
      'a repeated message': connections('repeated, closed loop', 'signed_per_s'),
      'messages that validators refuse': connections('refused, closed loop', 'other_per_s'),
    },
  },
  {
    file: 'http-latency',
    title: 'Time of a signed message, median',
    xLabel: 'connections',
    yLabel: 'milliseconds',
    yScale: 'log',
    lines: {
      'distinct, closed loop': connections('distinct, closed loop', 'signed_p50_ms'),
      'distinct, open loop at half of capacity': connections('distinct, open loop', 'signed_p50_ms'),
      'repeated, closed loop': connections('repeated, closed loop', 'signed_p50_ms'),
      'repeated, open loop at half of capacity': connections('repeated, open loop', 'signed_p50_ms'),
    },
  },
  {
    file: 'bls-aggregation',
    title: 'Aggregating and verifying the signatures of one message, one thread',
    xLabel: 'signatures',
    yLabel: 'milliseconds',
    yScale: 'log',
    lines: {
      'reference: each verified on its own by blst': { row: 'reference, clean', figure: 'ms' },
      noble: { row: 'noble, clean', figure: 'ms' },
      native: { row: 'native, clean', figure: 'ms' },
    },
  },
  ...['noble', 'native'].map(
    (backend): Picture => ({
      file: `bls-bad-signers-${backend}`,
      title: `Aggregating and verifying with bad signatures among the good ones: ${backend}`,
      xLabel: 'signatures',
      yLabel: 'milliseconds',
      yScale: 'log',
      lines: badSigners(backend),
    }),
  ),
  {
    file: 'l1-index-lookups',
    title: 'A lookup in the index of L1 validations',
    xLabel: 'registrations',
    yLabel: 'milliseconds',
    yScale: 'log',
    lines: {
      median: registrations('lookups', 'p50 ms'),
      '99th percentile': registrations('lookups', 'p99 ms'),
      longest: registrations('lookups', 'max ms'),
    },
  },
  {
    file: 'upstream-throughput',
    title: 'Requests passed on, 16 in flight',
    xLabel: 'bytes of an answer',
    yLabel: 'requests a second',
    yScale: 'linear',
    lines: {
      'upstream asked directly': bytes('direct', 'perSecond'),
      'bare proxy': bytes('bare proxy', 'perSecond'),
      'service without limits and CORS': bytes('checked alone', 'perSecond'),
      'whole service': bytes('checked', 'perSecond'),
      'whole service, from the cache': bytes('cached', 'perSecond'),
    },
  },
  {
    file: 'upstream-latency',
    title: '99th percentile of a request passed on, one at a time',
    xLabel: 'bytes of an answer',
    yLabel: 'milliseconds',
    yScale: 'linear',
    lines: {
      'upstream asked directly': bytes('direct', 'loneP99Ms'),
      'bare proxy': bytes('bare proxy', 'loneP99Ms'),
      'service without limits and CORS': bytes('checked alone', 'loneP99Ms'),
      'whole service': bytes('checked', 'loneP99Ms'),
      'whole service, from the cache': bytes('cached', 'loneP99Ms'),
    },
  },
];

/**
 * Rows of the lines that `npm run bench -- NAME --json` prints. Lines that are no JSON object, as npm prints some, are left out.
 *
 * @throws {SyntaxError} where a line starts like JSON and is none
 */
export function parseRows(text: string): Row[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Row);
}

/** The pictures for which there are rows, by their file names. A line without rows is left out of its picture. */
export function chartsOf(rows: readonly Row[]): Map<string, LineChart> {
  const machine = rows.find(({ name }) => name === 'machine');
  const subtitle = machine && `${machine['cpu']}, ${machine['cores']} cores, Node ${machine['node']}`;
  const charts = new Map<string, LineChart>();
  for (const { file, lines, ...labels } of PICTURES) {
    const all = Object.entries(lines).map(([name, line]): Series => ({ name, points: pointsOf(rows, line) }));
    const series = all.filter(({ points }) => points.length > 0);
    if (series.length > 0) charts.set(`${file}.svg`, { ...labels, series, ...(subtitle && { subtitle }) });
  }
  return charts;
}

function pointsOf(rows: readonly Row[], line: RowOfSize & { readonly figure: string }): [number, number][] {
  return rows.flatMap((row): [number, number][] => {
    const size = sizeOf(row, line);
    const value = row[line.figure];
    return size === undefined || typeof value !== 'number' ? [] : [[size, value]];
  });
}

function sizeOf({ name, ...figures }: Row, line: RowOfSize): number | undefined {
  if ('row' in line) return name === line.row ? Number(figures['n']) : undefined;
  const [size = '', what] = name.split(` ${line.sizeOf}: `);
  return what === line.what ? Number(size) : undefined;
}
