import { describe, expect, test } from 'vitest';
import { metricsOfSource } from '../../../scripts/docs/metrics-of-source.ts';

function read(text: string, file = 'src/store/shared.ts') {
  return metricsOfSource(new Map([[file, text]]));
}

/** A metric that is written, so that nothing but its declaration can be wrong. */
function problemsOf(method: string, options: string): readonly string[] {
  return read(`const metric = metrics.${method}({ ${options} });\nmetric.inc(); metric.set(1); metric.observe(1);\n`)
    .problems;
}

describe('metrics of the source', () => {
  test('are read with kind, help and labels, whatever the handle is called', () => {
    const { metrics, problems } = read(`
      export function create(port: Metrics) {
        const calls = port.counter<'outcome'>({
          name: 'calls_total',
          help: 'Calls, by ' + 'outcome',
          labels: ['outcome'],
        });
        port.readGauge({ name: 'connected', help: \`Whether it is there\` }, () => 1);
        return { onCall: (outcome) => calls.inc({ outcome }) };
      }
    `);
    expect(problems).toEqual([]);
    expect(metrics).toEqual([
      {
        name: 'signature_aggregator_calls_total',
        kind: 'counter',
        help: 'Calls, by outcome',
        labels: ['outcome'],
        file: 'src/store/shared.ts',
      },
      {
        name: 'signature_aggregator_connected',
        kind: 'gauge',
        help: 'Whether it is there',
        labels: [],
        file: 'src/store/shared.ts',
      },
    ]);
  });

  test('carry the label of their network where their folder belongs to one', () => {
    const { metrics } = read("m.readGauge({ name: 'x', help: 'X', labels: ['a'] }, () => 1);", 'src/p2p/peers.ts');
    expect(metrics[0]?.labels).toEqual(['network', 'a']);
  });

  test.each([
    ["counter({ name: NAME, help: 'X' })", /src\/store\/shared\.ts declares a counter whose name is no literal/],
    ["gauge({ name: `peer_${name}`, help: 'X' })", /declares a gauge whose name is no literal/],
    ['histogram(options)', /declares a histogram whose name is no literal/],
    ["counter({ name: 'x_total', help })", /help of the metric `signature_aggregator_x_total` is no literal/],
    ["counter({ name: 'x_total', help: '' })", /help of the metric `signature_aggregator_x_total` is no literal/],
    [
      "counter({ name: 'x_total', help: 'X', labels })",
      /labels of the metric `signature_aggregator_x_total` are no list/,
    ],
  ])('%s cannot be read, and it is said where', (call, expected) => {
    expect(read(`metrics.${call};`).problems).toEqual([expect.stringMatching(expected)]);
  });

  test('declared twice have two owners', () => {
    const text = "const x = metrics.counter({ name: 'x_total', help: 'X' });\nx.inc();\n";
    const files = new Map([
      ['src/store/a.ts', text],
      ['src/store/b.ts', text],
    ]);
    expect(metricsOfSource(files).problems).toEqual([
      'src/store/b.ts declares `signature_aggregator_x_total`, as src/store/a.ts does: a metric has one owner.',
    ]);
  });
});

describe('names of metrics', () => {
  test.each([
    ['counter', "name: 'calls'", 'is a counter, and does not end in _total'],
    ['gauge', "name: 'calls_total'", 'is a gauge, and ends in _total as a counter does'],
    ['histogram', "name: 'calls_total'", 'is a histogram, and ends in _total as a counter does'],
    ['counter', "name: 'callsMade_total'", 'is not in snake case'],
    ['counter', "name: 'calls__total'", 'is not in snake case'],
    ['counter', "name: 'signature_aggregator_calls_total'", 'has the prefix twice: the factory adds it'],
    ['gauge', "name: 'call_count'", 'ends as a time series of a histogram does'],
    ['histogram', "name: 'call_duration_ms'", 'is in ms: metrics are in seconds, bytes and ratios from 0 to 1'],
    ['gauge', "name: 'connected_percentage'", 'is in percentage: metrics are in seconds, bytes and ratios from 0 to 1'],
    ['histogram', "name: 'call_duration'", 'is a duration, and does not end in _seconds'],
    ['histogram', "name: 'calls', buckets: DURATION_BUCKETS_SECONDS", 'is a duration, and does not end in _seconds'],
    ['counter', "name: 'waiting_time_total'", 'is a duration, and does not end in _seconds'],
    ['gauge', "name: 'memory'", 'is a size, and does not end in _bytes'],
    ['counter', "name: 'bytes_sent_total'", 'is a size, and does not end in _bytes'],
  ])('%s with %s breaks a rule', (method, options, rule) => {
    expect(problemsOf(method, `${options}, help: 'X'`)).toEqual([
      expect.stringMatching(new RegExp(`^src/store/shared.ts: the metric \`signature_aggregator_\\w+\` ${rule}.$`)),
    ]);
  });

  test.each([
    ['counter', 'traffic_bytes_total'],
    ['counter', 'waiting_seconds_total'],
    ['histogram', 'call_duration_seconds'],
    ['gauge', 'cache_bytes'],
    ['gauge', 'connected_stake_ratio'],
    ['gauge', 'known_addresses'],
  ])('%s %s is fine', (method, name) => {
    expect(problemsOf(method, `name: '${name}', help: 'X'`)).toEqual([]);
  });
});

describe('whether a metric is written', () => {
  const declaration = "metrics.counter({ name: 'x_total', help: 'X' })";
  const unwritten =
    'src/store/shared.ts declares the metric `signature_aggregator_x_total`, which nothing in its folder writes.';

  test.each([
    ['a call on a variable', `const x = ${declaration};\nx.inc();`],
    ['a call at once', `${declaration}.inc();`],
    ['a callback', `const x = ${declaration};\nconst on = { hit: x.inc };`],
    ['a private field', `class A { #x; constructor() { this.#x = ${declaration}; } f() { this.#x?.inc(); } }`],
    ['a field', `class A { readonly x = ${declaration}; f() { this.x.inc(); } }`],
    ['an object', `function make() { return { x: ${declaration} }; }\nmake().x.inc();`],
    [
      'an object taken apart',
      `function make() { return { x: ${declaration} }; }\nconst { x: hits } = make();\nhits.inc();`,
    ],
    ['a shorthand', `function make() { const y = ${declaration}; return { y }; }\nmake().y.inc();`],
    ['a function', `function make() { return ${declaration}; }\nconst made = make();\nmade.inc();`],
    ['an arrow function', `const make = () => ${declaration};\nmake().inc();`],
    ['another function that it is handed to', `const x = ${declaration};\ncount(x);`],
  ])('through %s it is', (_, text) => {
    expect(read(text).problems).toEqual([]);
  });

  test.each([
    ['a statement', `${declaration};`],
    ['a variable', `export const x = ${declaration};`],
    ['a call of something else', `const x = ${declaration};\nx.labels();`],
    ['a private field', `class A { #x; constructor() { this.#x = ${declaration}; } f() { this.x.inc(); } }`],
    ['an object', `function make() { return { x: ${declaration}, y: 1 }; }\nmake().y.inc();`],
    ['a function that is never called', `export function make() { return ${declaration}; }`],
    ['a circle', `let a = ${declaration};\nlet b = a;\na = b;`],
  ])('only as %s it is not', (_, text) => {
    expect(read(text).problems).toEqual([unwritten]);
  });

  test('another file of its folder may write it, another folder not', () => {
    const owner = `export const hits = ${declaration};`;
    const writer = 'hits.inc();';
    expect(
      metricsOfSource(
        new Map([
          ['src/store/shared.ts', owner],
          ['src/store/b.ts', writer],
        ]),
      ).problems,
    ).toEqual([]);
    expect(
      metricsOfSource(
        new Map([
          ['src/store/shared.ts', owner],
          ['src/api/b.ts', writer],
        ]),
      ).problems,
    ).toEqual([unwritten]);
  });
});
