import { sep } from 'node:path';
import { type CheckResult, ROOT, resultOfTool, run, sources, toProjectPath } from './project.ts';

/** The console's page runs in browsers, and has their types; all else must do without. */
const PROJECTS = ['.', 'src/console/page'];

export function checkTypes(): CheckResult {
  const runs = PROJECTS.map((project) => run('tsc', ['--project', project, '--listFiles', '--pretty', 'false']));
  const status = Math.max(...runs.map((one) => one.status));
  const output = runs.map((one) => one.output).join('\n');
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
