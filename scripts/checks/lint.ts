import { type CheckResult, resultOfTool, run, written } from './project.ts';

export function checkLint(): CheckResult {
  const { status, output } = run('oxlint', ['--deny-warnings', '--format', 'json', '.']);
  const report = parseReport(output);
  if (report === undefined) return { ok: false, summary: 'no report', details: output };
  const details = report.diagnostics.map(({ filename, labels, message, code, help }) => {
    const { line, column } = labels[0]?.span ?? { line: 0, column: 0 };
    return `${filename}:${line}:${column}: ${message} [${code}] ${help ?? ''}`;
  });
  const count = report.number_of_files;
  return resultOfTool(status, count < written.length ? written : [], `${count} files`, details.join('\n'));
}

interface LintReport {
  readonly number_of_files: number;
  readonly diagnostics: readonly {
    readonly filename: string;
    readonly message: string;
    readonly code?: string;
    readonly help?: string;
    readonly labels: readonly { readonly span: { readonly line: number; readonly column: number } }[];
  }[];
}

function parseReport(output: string): LintReport | undefined {
  try {
    return JSON.parse(output) as LintReport;
  } catch {
    return undefined;
  }
}
