import { type CheckResult, run } from './project.ts';

export function checkDeadCode(): CheckResult {
  const all = run('knip', ['--no-progress', '--treat-config-hints-as-errors']);
  const production = run('knip', ['--no-progress', '--production', '--include', 'files,dependencies']);
  const ok = all.status === 0 && production.status === 0;
  const heading = 'What only tests use is dead code too:\n';
  const details = `${all.status === 0 ? '' : all.output}${production.status === 0 ? '' : heading + production.output}`;
  return { ok, summary: 'files, exports, dependencies', details };
}
