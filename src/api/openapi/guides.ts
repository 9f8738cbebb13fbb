import { existsSync, readFileSync } from 'node:fs';

/** A text beside the reference. */
export interface Guide {
  readonly name: string;
  readonly slug: string;
  /** Without operations: the page shows the text of its description. */
  readonly document: object;
}

/** The files of the guides in the order of the page, and which chapter of a file is one; else it is the whole file. */
const FILES: readonly { readonly file: string; readonly chapter?: string }[] = [
  { file: 'README.md', chapter: 'Use it' },
  { file: 'docs/errors.md' },
  { file: 'docs/switch-from-go.md' },
  { file: 'docs/operate.md' },
  { file: 'docs/runbook.md' },
  { file: 'docs/metrics.md' },
  { file: 'docs/traces.md' },
];

/** Of those files that are there: whoever packs the service may leave them out. */
export function readGuides(): Guide[] {
  const guides = FILES.flatMap(({ file, chapter }) => {
    const url = new URL(`../../../${file}`, import.meta.url);
    return existsSync(url) ? [{ file, ...readGuide(readFileSync(url, 'utf8'), chapter) }] : [];
  });
  const names = new Map(guides.map(({ file, title }) => [file.replace(/^docs\//, ''), title]));
  return guides.map(({ file, title, text }) => ({
    name: title,
    slug: file.replace(/^.*\/|\.md$/g, '').toLowerCase(),
    document: {
      openapi: '3.1.0',
      info: { title, version: '1', description: linkGuides(unwrapLines(text), names) },
      paths: {},
    },
  }));
}

function readGuide(markdown: string, chapter?: string): { readonly title: string; readonly text: string } {
  const level = chapter === undefined ? '# ' : '## ';
  const [, ...parts] = `\n${markdown}`.split(`\n${level}`);
  const part = chapter === undefined ? parts[0] : parts.find((one) => one.startsWith(`${chapter}\n`));
  const [title = '', ...lines] = (part ?? '').split('\n');
  // The page would take a table right after a comment for a part of it.
  return {
    title,
    text: lines
      .filter((line) => !line.startsWith('<!--'))
      .join('\n')
      .trim(),
  };
}

/** The page takes each line break as one; in the files they only keep lines short. */
function unwrapLines(markdown: string): string {
  const lines: string[] = [];
  let isCode = false;
  for (const line of markdown.split('\n')) {
    const isFence = line.startsWith('```');
    const last = lines.at(-1) ?? '';
    const goesOn = !isCode && !isFence && /^\s*[^\s|#>*+-]/.test(line) && !/^\s*\d+\. /.test(line);
    if (goesOn && last !== '' && !/^(```|[|#>])/.test(last)) lines[lines.length - 1] = `${last} ${line.trim()}`;
    else lines.push(line);
    if (isFence) isCode = !isCode;
  }
  return lines.join('\n');
}

/** Links to other guides open them; of links to files that the page has not, the words remain. */
function linkGuides(markdown: string, names: ReadonlyMap<string, string>): string {
  return markdown.replaceAll(/\[([^\]]+)\]\((?!https?:)([^)]+)\)/g, (_, words: string, target: string) => {
    const name = names.get(target.replace(/#.*$/, '').replace(/^(\.\.\/)?(docs\/)?/, ''));
    return name === undefined ? words : `[${words}](?urls.primaryName=${encodeURIComponent(name)})`;
  });
}
