import { describe, expect, test } from 'vitest';
import { commandHelp } from '../../../scripts/docs/commands.ts';
import { type ReferenceTable, withTable } from '../../../scripts/docs/reference-table.ts';
import { describeService, misnamedMetrics } from '../../../scripts/docs/service.ts';
import { unnamedInTests } from '../../../scripts/docs/tested.ts';
import { createProgram } from '../../../src/cli/program.ts';

const EMPTY = 'Before.\n\n<!-- generated: codes -->\n<!-- end of the generated part -->\n\nAfter.\n';
const TABLE: ReferenceTable = {
  file: 'docs/codes.md',
  subject: 'codes',
  head: ['Code', 'Meaning'],
  rows: [['gone', 'It is a | b']],
};

describe('a reference table', () => {
  test('is written between its comments, and all else stays', () => {
    const written = withTable(EMPTY, TABLE);
    expect(written).toBe(
      EMPTY.replace('codes -->\n', 'codes -->\n| Code | Meaning |\n| --- | --- |\n| `gone` | It is a \\| b |\n'),
    );
    expect(withTable(written, TABLE)).toBe(written);
  });

  test('needs its comments', () => {
    expect(() => withTable('# Codes\n', TABLE)).toThrow('docs/codes.md lacks the lines `<!-- generated: codes -->`');
  });
});

describe('the service as it runs', () => {
  test('has a route with its price, and hidden routes without an operation', async () => {
    const routes = new Map((await describeService()).routes.map((route) => [route.name, route]));
    expect(routes.get('POST /ext/bc/{chain}')).toMatchObject({ group: 'rpc', units: '2' });
    expect(routes.get('GET /v1/networks/{network}/addresses:listChainIds')?.group).toBe('data');
    expect(routes.get('GET /health/live')?.operationID).toBe('live');
    expect(routes.get('GET /metrics')?.operationID).toBeUndefined();
    expect(routes.has('GET /devnet/examples')).toBe(true);
    const incomplete = [...routes.values()].filter(({ group, units, summary }) => [group, units, summary].includes(''));
    expect(incomplete).toEqual([]);
  });

  test('has metrics with the labels of its networks, also those of optional parts', async () => {
    const metrics = new Map((await describeService()).metrics.map((metric) => [metric.name, metric]));
    expect(metrics.get('signature_aggregator_shared_work_total')).toMatchObject({
      kind: 'counter',
      labels: ['network', 'outcome'],
    });
    for (const name of ['trace_spans_total', 'upstream_requests_total', 'go_api_requests_total', 'bls_audits_total']) {
      expect([...metrics.keys()]).toContain(`signature_aggregator_${name}`);
    }
  });
});

test.each([
  ['calls', 'counter', false],
  ['calls_total', 'gauge', false],
  ['call_duration', 'histogram', false],
  ['call_duration_ms', 'histogram', false],
  ['connected_percentage', 'gauge', false],
  ['traffic_bytes_total', 'counter', true],
  ['call_duration_seconds', 'histogram', true],
  ['connected_ratio', 'gauge', true],
])('%s is a name of a %s: %s', (name, kind, isGood) => {
  expect(misnamedMetrics([{ name, kind }]).length === 0).toBe(isGood);
});

test('the reference of commands has all of them, with what follows their options', () => {
  const help = commandHelp();
  const { commands } = createProgram('', () => undefined);
  for (const command of commands) expect(help).toContain(`## ${command.name()}\n`);
  expect(help).toContain('Examples:');
});

test('names that no test contains are found', () => {
  const tests = new Map([
    ['test/a/one.test.ts', "'gone' and `/v1/things/7`"],
    ['test/b/two.test.ts', "'late'"],
  ]);
  const routes = { kind: 'route', folder: 'test/', names: ['GET /v1/things/{id}', 'GET /v1/things/{id}/parts'] };
  const codes = { kind: 'code', folder: 'test/a/', names: ['gone', 'late', 'gon'] };
  expect(unnamedInTests([routes, codes], tests)).toEqual([
    'No test below test/ names the route `GET /v1/things/{id}/parts`.',
    'No test below test/a/ names the code `late`.',
    'No test below test/a/ names the code `gon`.',
  ]);
});
