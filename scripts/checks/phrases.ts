import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import phrases from './phrases.json' with { type: 'json' };
import { type CheckResult, documents, ROOT, resultOfProblems, written } from './project.ts';

interface Hit {
  readonly area: string;
  readonly text: string;
}

const COMMENT = /(?:^|\s)(?:\/\/|\/?\*).*$/;

/**
 * Finds the phrases of phrases.json in code and documents. Words that the field does not use for the thing are forbidden; turns of phrase that
 * slow a reader down are limited by area, in comments and documents; those within the limits are details of the result.
 */
export function checkPhrases(): CheckResult {
  const files = [...written, ...documents()].filter((file) => file !== 'CHANGELOG.md');
  const lines: Record<string, number> = {};
  const terms: Hit[] = [];
  const prose: Hit[] = [];
  for (const file of files) {
    const area = file.endsWith('.md') ? 'documents' : (file.split('/')[0] ?? '');
    const text = readFileSync(join(ROOT, file), 'utf8').split('\n');
    lines[area] = (lines[area] ?? 0) + text.length;
    for (const [index, line] of text.entries()) {
      const place = `${file}:${index + 1}`;
      const comment = area === 'documents' ? line : (COMMENT.exec(line)?.[0] ?? '');
      terms.push(...hitsIn(line, TERMS, file).map((hit) => ({ area, text: `${place}: ${hit}` })));
      prose.push(...hitsIn(comment, PROSE, file).map((hit) => ({ area, text: `${place}: ${hit}` })));
    }
  }
  const tooMany = Object.entries(phrases.maxPerThousandLines).flatMap(([area, max]) => {
    const hits = prose.filter((hit) => hit.area === area);
    const allowed = Math.floor((max * (lines[area] ?? 0)) / 1_000);
    return hits.length <= allowed
      ? []
      : [`${area} has ${hits.length} of at most ${allowed} phrases:`, ...hits.map(({ text }) => text)];
  });
  const result = resultOfProblems(
    [...terms.map(({ text }) => text), ...tooMany],
    `${files.length} files, ${prose.length} phrases that could be plainer`,
  );
  return result.ok ? { ...result, details: prose.map(({ text }) => text).join('\n') } : result;
}

interface Phrase {
  readonly pattern: string;
  readonly instead: string;
  /** A file that may have it. */
  readonly except?: string;
}

function compile(list: readonly Phrase[]) {
  const each = list.map(({ pattern, ...rest }) => ({ ...rest, pattern: new RegExp(pattern, 'gi') }));
  return { any: new RegExp(list.map(({ pattern }) => pattern).join('|'), 'i'), each };
}

const TERMS = compile(phrases.terms);
const PROSE = compile(phrases.prose);

function hitsIn(line: string, { any, each }: ReturnType<typeof compile>, file: string): string[] {
  if (!any.test(line)) return [];
  return each.flatMap(({ pattern, instead, except }) =>
    except === file ? [] : Array.from(line.matchAll(pattern), ([found]) => `"${found.trim()}"; write ${instead}`),
  );
}
