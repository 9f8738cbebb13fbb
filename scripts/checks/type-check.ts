import { sep } from 'node:path';
import { type CheckResult, ROOT, resultOfTool, run, sources, toProjectPath } from './project.ts';

export function checkTypes(): CheckResult {
  const { status, output } = run('tsc', ['--project', '.', '--listFiles', '--pretty', 'false']);
  const lines = output.split('\n');
  const listed = new Set(lines.filter((line) => line.startsWith(`${ROOT}${sep}`)).map(toProjectPath));
  const missed = sources.filter((file) => !listed.has(file) && !isShadowedByTypes(file));
  const details = lines.filter((line) => !/^(\/|[A-Za-z]:)/.test(line));
  return resultOfTool(status, missed, `${sources.length - missed.length} files`, details.join('\n'));
}

/** tsc reads x.d.ts in the place of x.js. */
function isShadowedByTypes(file: string): boolean {
  return file.endsWith('.js') && sources.includes(file.replace(/\.js$/, '.d.ts'));
}
