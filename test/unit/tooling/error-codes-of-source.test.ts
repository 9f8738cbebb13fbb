import { describe, expect, test } from 'vitest';
import { ERROR_CODES_FILE, errorCodesOfSource } from '../../../scripts/docs/error-codes-of-source.ts';

const ENTRY = "{ status: 404, meaning: 'There is ' + 'none', retry: 'never', action: 'Go' }";

function read(table: string, raising: string) {
  return errorCodesOfSource(
    new Map([
      [ERROR_CODES_FILE, `export const ERROR_CODES: Readonly<Record<Code, Entry>> = ${table};`],
      ['src/aggregator/a.ts', raising],
    ]),
  );
}

const UNRAISED = [`${ERROR_CODES_FILE} has the code \`not_found\`, which nothing in src raises.`];

describe('error codes of the source', () => {
  test('are read with all that the document says of them', () => {
    expect(read(`{ not_found: ${ENTRY} }`, "throw new HttpError('not_found', 'x');")).toEqual({
      codes: [{ code: 'not_found', status: '404', meaning: 'There is none', retry: 'never', action: 'Go' }],
      problems: [],
    });
  });

  test.each([
    "throw new HttpError('not_found', 'x');",
    "const error = { code: 'not_found' };",
    "const code = isGone ? 'gone' : 'not_found';",
    "const BY_STATUS = { 404: 'not_found' };",
    "const BY_CAUSE = { ENOENT: ['not_found', 'there is none'] };",
    "const f = () => 'not_found';",
  ])('%s raises one', (raising) => {
    expect(read(`{ not_found: ${ENTRY} }`, raising).problems).toEqual([]);
  });

  test.each([
    "type Code = 'not_found' | 'gone';",
    "if (error.code === 'not_found') end();",
    "switch (code) { case 'not_found': end(); }",
    "const FINAL = new Set(['not_found']);",
    "const FINAL = ['not_found'];",
    "const f = codes.has('not_found');",
    "const labels = { 'not_found': 1 };",
    '// not_found',
  ])('%s does not', (raising) => {
    expect(read(`{ not_found: ${ENTRY} }`, raising).problems).toEqual(UNRAISED);
  });

  test.each([
    ["{ not_found: { status: 404, meaning: 'M', retry: 'never' } }", 'lacks status, meaning, retry or action'],
    ["{ not_found: { status: STATUS, meaning: 'M', retry: 'never', action: 'A' } }", 'lacks status, meaning'],
    ['{ not_found: notFound }', 'lacks status, meaning'],
    ['{ ...others }', 'is not written out'],
  ])('%s cannot be read', (table, expected) => {
    expect(read(table, '').problems).toEqual([expect.stringContaining(expected)]);
  });

  test('without a table that is said', () => {
    const missing = [`${ERROR_CODES_FILE} has no object literal ERROR_CODES.`];
    expect(errorCodesOfSource(new Map()).problems).toEqual(missing);
    expect(errorCodesOfSource(new Map([[ERROR_CODES_FILE, 'export const ERROR_CODES = make();']])).problems).toEqual(
      missing,
    );
  });
});
