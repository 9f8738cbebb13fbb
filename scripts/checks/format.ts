import { type CheckResult, resultOfTool, run, written } from './project.ts';

export function checkFormat(): CheckResult {
  const { status, output } = run('biome', ['check', '--colors=off', '--max-diagnostics=50', '.']);
  const count = Number(/^Checked (\d+) files?/m.exec(output)?.[1] ?? 0);
  return resultOfTool(status, count < written.length ? written : [], `${count} files`, output);
}
