import { existsSync, readFileSync } from 'node:fs';

/** A text beside the reference. */
export interface Guide {
  readonly name: string;
  readonly slug: string;
  /** Without operations: the page shows the text of its description. */
  readonly document: object;
}

/** The files of the guides in the order of the page. */
const FILES = ['docs/api.md', 'docs/errors.md', 'docs/switch-from-go.md', 'docs/operate.md', 'docs/metrics.md'];

/** Reads the guides. A package of the service may lack some of them. */
export function readGuides(): Guide[] {
  const guides = FILES.flatMap((file) => {
    const url = new URL(`../../../${file}`, import.meta.url);
    return existsSync(url) ? [{ file, ...readGuide(readFileSync(url, 'utf8')) }] : [];
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

function readGuide(markdown: string): { readonly title: string; readonly text: string } {
  const [title = '', ...lines] = markdown.replace(/^# /, '').split('\n');
  // The page would take a table right after a comment for a part of it.
  const shown = lines.filter((line) => !line.startsWith('<!--'));
  return { title, text: shown.join('\n').trim() };
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

/** Links to other guides open them; links to other files are left as text. */
function linkGuides(markdown: string, names: ReadonlyMap<string, string>): string {
  return markdown.replaceAll(/\[([^\]]+)\]\((?!https?:)([^)]+)\)/g, (_, words: string, target: string) => {
    const name = names.get(target.replace(/#.*$/, '').replace(/^(\.\.\/)?(docs\/)?/, ''));
    return name === undefined ? words : `[${words}](?urls.primaryName=${encodeURIComponent(name)})`;
  });
}
