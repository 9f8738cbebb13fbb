import { expect, test } from 'vitest';
import { chartsOf, parseRows } from '../../../bench/charts.ts';
import { drawLineChart } from '../../../bench/line-chart.ts';

/** Lines as the benchmarks print them, with what npm prints before. */
const OUTPUT = `
> warp-signature-aggregator@0.1.0 bench
> node src/require-node.js && node bench/run.ts service --json

{"name":"machine","cpu":"AMD EPYC","cores":2,"node":"v24.21.0"}
{"name":"20 validators: listening","ms":1100}
{"name":"20 validators: ready (67 % connected)","ms":1200,"rss_mib":254,"cpu_s":2.1}
{"name":"20 validators: first request (keys undecoded)","ms":73}
{"name":"20 validators: distinct request","n":20,"ms":29,"cpu_ms":31}
{"name":"20 validators: distinct, 16 in flight","ms":15}
{"name":"20 validators: repeated request","n":200,"ms":0.5}
{"name":"20 validators: after the run","rss_mib":276,"cpu_s":4}
{"name":"200 validators: distinct request","n":20,"ms":88,"cpu_ms":90}
{"name":"16 connections: distinct, closed loop","signed_per_s":12,"signed_p50_ms":900}
{"name":"64 connections: distinct, closed loop","signed_per_s":11,"signed_p50_ms":2000,"refused_per_s":500}
{"name":"64 connections: distinct, open loop","due_per_s":6,"signed_per_s":6,"signed_p50_ms":100}
{"name":"reference, clean","n":5,"ms":5.7,"ratio":1,"vs":"reference"}
{"name":"noble, clean","n":5,"ms":19,"ratio":3.4,"vs":"reference"}
{"name":"native, clean","n":5,"ms":2.1,"ratio":0.37,"vs":"reference"}
{"name":"noble, 1 bad","n":5,"ms":40,"ratio":7,"vs":"reference"}
{"name":"noble, 1 bad against clean","n":5,"ms":40,"ratio":2.1,"vs":"noble, clean"}
{"name":"noble, a third bad","n":5,"ms":40,"ratio":7,"vs":"reference"}
{"name":"10000 registrations: lookups","lookups":10000,"p50 ms":0.008,"p99 ms":0.03,"max ms":4}
{"name":"1000 bytes: direct","perSecond":20000,"ofBareProxy":2,"saturatedP99Ms":3,"loneP50Ms":0.2,"loneP99Ms":0.3,"loneP99AddedMs":0}
{"name":"1000 bytes: checked","perSecond":8360,"ofBareProxy":0.88,"saturatedP99Ms":3,"loneP50Ms":0.4,"loneP99Ms":0.9,"loneP99AddedMs":0.6}
`;

const charts = chartsOf(parseRows(OUTPUT));
const seriesOf = (file: string) =>
  Object.fromEntries(charts.get(file)?.series.map(({ name, points }) => [name, points]) ?? []);

test('every picture is made from the rows that the benchmarks print, and can be drawn', () => {
  expect([...charts.keys()]).toEqual([
    'service-requests.svg',
    'service-start.svg',
    'service-memory.svg',
    'http-throughput.svg',
    'http-latency.svg',
    'bls-aggregation.svg',
    'bls-bad-signers-noble.svg',
    'bls-bad-signers-native.svg',
    'l1-index-lookups.svg',
    'upstream-throughput.svg',
    'upstream-latency.svg',
  ]);
  for (const chart of charts.values()) {
    expect(chart.subtitle).toBe('AMD EPYC, 2 cores, Node v24.21.0');
    expect(drawLineChart(chart)).toContain('</svg>');
  }
});

test('a point is at the size that was measured, whether it stands in the name or beside it', () => {
  expect(seriesOf('service-requests.svg')).toEqual({
    'first request of a set': [[20, 73]],
    'distinct request': [
      [20, 29],
      [200, 88],
    ],
    'distinct, 16 in flight, each': [[20, 15]],
    'repeated request': [[20, 0.5]],
  });
  expect(seriesOf('http-latency.svg')).toEqual({
    'distinct, closed loop': [
      [16, 900],
      [64, 2_000],
    ],
    'distinct, open loop at half of capacity': [[64, 100]],
  });
  expect(seriesOf('bls-bad-signers-noble.svg')).toEqual({
    'all good': [[5, 19]],
    '1 bad': [[5, 40]],
    'a third bad': [[5, 40]],
    'reference, all good': [[5, 5.7]],
  });
  expect(seriesOf('upstream-throughput.svg')).toEqual({
    'upstream asked directly': [[1_000, 20_000]],
    'whole service': [[1_000, 8_360]],
  });
  expect(seriesOf('l1-index-lookups.svg')).toMatchObject({ longest: [[10_000, 4]] });
});

test('what was not measured is not drawn', () => {
  expect(chartsOf(parseRows('{"name":"machine","cpu":"x","cores":1,"node":"v24"}\n')).size).toBe(0);
  expect([...chartsOf([{ name: 'noble, clean', n: 5, ms: 19 }]).keys()]).toEqual([
    'bls-aggregation.svg',
    'bls-bad-signers-noble.svg',
  ]);
  expect(() => parseRows('{"name": broken')).toThrow(SyntaxError);
});
