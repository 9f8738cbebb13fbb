/** A table of a document that is written from the source, between two comments. */
export interface ReferenceTable {
  /** Relative to the project, such as `docs/metrics.md`. */
  readonly file: string;
  /** What is between the comments; unique in its file. */
  readonly subject: string;
  readonly head: readonly string[];
  /** The first cell is shown as code. */
  readonly rows: readonly (readonly string[])[];
}

const END = '<!-- end of the generated part -->';

/** The document with its table replaced. @throws if the document has no place for it */
export function withTable(text: string, { file, subject, head, rows }: ReferenceTable): string {
  const lines = [head, head.map(() => '---'), ...rows.map(([name = '', ...cells]) => [`\`${name}\``, ...cells])];
  return withGenerated(text, { file, subject, content: lines.map(lineOf).join('\n') });
}

/** The document with what is between the two comments replaced. */
export function withGenerated(
  text: string,
  { file, subject, content }: { readonly file: string; readonly subject: string; readonly content: string },
): string {
  const begin = `<!-- generated: ${subject} -->`;
  const at = text.indexOf(begin);
  const end = text.indexOf(END, at);
  if (at === -1 || end === -1) throw new Error(`${file} lacks the lines \`${begin}\` and \`${END}\``);
  return `${text.slice(0, at + begin.length)}\n${content}\n${text.slice(end)}`;
}

function lineOf(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}
