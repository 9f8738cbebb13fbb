import { expect, test } from 'vitest';
import { commandHelp } from '../../../scripts/docs/commands.ts';
import { type ReferenceTable, withTable } from '../../../scripts/docs/reference-table.ts';
import { misnamedMetrics } from '../../../scripts/docs/service.ts';
import { createProgram } from '../../../src/cli/program.ts';

const EMPTY = 'Before.\n\n<!-- generated: codes -->\n<!-- end of the generated part -->\n\nAfter.\n';
const TABLE: ReferenceTable = {
  file: 'docs/codes.md',
  subject: 'codes',
  head: ['Code', 'Meaning'],
  rows: [['gone', 'It is a | b']],
};

test('a reference table is written between its comments, and all else stays', () => {
  const written = withTable(EMPTY, TABLE);
  expect(written).toBe(
    EMPTY.replace('codes -->\n', 'codes -->\n| Code | Meaning |\n| --- | --- |\n| `gone` | It is a \\| b |\n'),
  );
  expect(withTable(written, TABLE)).toBe(written);
});

test('a reference table needs its comments', () => {
  expect(() => withTable('# Codes\n', TABLE)).toThrow('docs/codes.md lacks the lines `<!-- generated: codes -->`');
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
