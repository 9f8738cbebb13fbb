/** A table of a document that is written from the source, between two comments that name it. */
export interface ReferenceTable {
  /** Relative to the project, such as `docs/metrics.md`. */
  readonly file: string;
  /** What a row is about, such as `metric`. */
  readonly subject: string;
  readonly head: readonly string[];
  /** The first cell of each names what it is about, without backticks, and is unlike all others. */
  readonly rows: readonly (readonly string[])[];
  /** Where the source has what a row is about, by its first cell. */
  sourceOf(name: string): string;
}

const END = '<!-- end of the generated part -->';

/** The document with its table as it should be. @throws where the document has no place for it */
export function withTable(text: string, table: ReferenceTable): string {
  const part = partOf(text, table);
  if (part === undefined) throw new Error(missingPart(table));
  const lines = [table.head, table.head.map(() => '---'), ...table.rows.map(markedRow)].map(lineOf);
  return `${text.slice(0, part.start)}\n${lines.join('\n')}\n${text.slice(part.end)}`;
}

/** A sentence for each way in which the document's table differs from the source. */
export function problemsOfTable(text: string, table: ReferenceTable): string[] {
  const { file, subject, rows, sourceOf } = table;
  const part = partOf(text, table);
  if (part === undefined) return [missingPart(table)];
  const lines = text
    .slice(part.start, part.end)
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  const found = new Map(lines.map((line) => [/^\| `([^`]*)`/.exec(line)?.[1] ?? '', line]));
  const problems = rows.flatMap((row) => {
    const [name = ''] = row;
    const line = found.get(name);
    found.delete(name);
    if (line === lineOf(markedRow(row))) return [];
    return line === undefined
      ? [`${file} lacks the ${subject} \`${name}\` of ${sourceOf(name)}: npm run generate.`]
      : [`${file} says something else of the ${subject} \`${name}\` than ${sourceOf(name)}: npm run generate.`];
  });
  for (const name of found.keys())
    problems.push(`${file} has the ${subject} \`${name}\`, which the source has not: npm run generate.`);
  if (problems.length === 0 && withTable(text, table) !== text) {
    problems.push(
      `${file}: its table of each ${subject} is in another order or form than generated: npm run generate.`,
    );
  }
  return problems;
}

function partOf(text: string, { subject }: ReferenceTable): { start: number; end: number } | undefined {
  const begin = beginOf(subject);
  const at = text.indexOf(begin);
  const start = at + begin.length;
  const end = text.indexOf(END, start);
  return at === -1 || end === -1 ? undefined : { start, end };
}

function beginOf(subject: string): string {
  return `<!-- generated: a row for each ${subject} -->`;
}

function missingPart({ file, subject }: ReferenceTable): string {
  return `${file} has no place for its table: the lines \`${beginOf(subject)}\` and \`${END}\`.`;
}

function markedRow([name = '', ...cells]: readonly string[]): string[] {
  return [`\`${name}\``, ...cells];
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}
