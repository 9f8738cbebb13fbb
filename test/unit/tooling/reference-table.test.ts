import { describe, expect, test } from 'vitest';
import { problemsOfTable, type ReferenceTable, withTable } from '../../../scripts/docs/reference-table.ts';

const EMPTY = `# Codes

Words before.

<!-- generated: a row for each code -->
<!-- end of the generated part -->

Words after, with \`gone\`.
`;

function tableOf(...rows: string[][]): ReferenceTable {
  return {
    file: 'docs/codes.md',
    subject: 'code',
    head: ['Code', 'Meaning'],
    rows,
    sourceOf: (name) => `src/${name}.ts`,
  };
}

const TABLE = tableOf(['gone', 'It is a | b'], ['late', 'Too late']);

describe('reference tables', () => {
  test('are written between their marks, and all else stays', () => {
    const written = withTable(EMPTY, TABLE);
    expect(written).toBe(
      EMPTY.replace(
        'code -->\n',
        'code -->\n| Code | Meaning |\n| --- | --- |\n| `gone` | It is a \\| b |\n| `late` | Too late |\n',
      ),
    );
    expect(withTable(written, TABLE)).toBe(written);
    expect(problemsOfTable(written, TABLE)).toEqual([]);
  });

  test('what the source has and the document lacks is named with its source', () => {
    expect(problemsOfTable(EMPTY, TABLE)).toEqual([
      'docs/codes.md lacks the code `gone` of src/gone.ts: npm run generate.',
      'docs/codes.md lacks the code `late` of src/late.ts: npm run generate.',
    ]);
  });

  test('what the document has and the source lacks is named', () => {
    expect(problemsOfTable(withTable(EMPTY, TABLE), tableOf(['gone', 'It is a | b']))).toEqual([
      'docs/codes.md has the code `late`, which the source has not: npm run generate.',
    ]);
  });

  test('what the two say differently is named', () => {
    expect(problemsOfTable(withTable(EMPTY, TABLE), tableOf(['gone', 'It is a | b'], ['late', 'Early']))).toEqual([
      'docs/codes.md says something else of the code `late` than src/late.ts: npm run generate.',
    ]);
  });

  test('another order is told, too', () => {
    expect(
      problemsOfTable(withTable(EMPTY, TABLE), tableOf(...TABLE.rows.toReversed().map((row) => [...row]))),
    ).toEqual(['docs/codes.md: its table of each code is in another order or form than generated: npm run generate.']);
  });

  test('a document without a place for the table is told which lines it needs', () => {
    const missing = 'docs/codes.md has no place for its table: the lines `<!-- generated: a row for each code -->`';
    expect(problemsOfTable('# Codes\n', TABLE)).toEqual([expect.stringContaining(missing)]);
    expect(() => withTable('# Codes\n', TABLE)).toThrow(missing);
  });
});
