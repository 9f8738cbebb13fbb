/** What is read of schemathesis' report. */
export interface SchemathesisReport {
  readonly complete: boolean;
  readonly operations: { readonly total: number; readonly tested: number; readonly errored: number };
  readonly phases: Readonly<Record<string, { readonly status: string }>>;
  readonly test_cases: { readonly generated: number };
  readonly failures: readonly { readonly title: string; readonly operations: readonly string[] }[];
}

export interface Outcomes {
  readonly passed: number;
  readonly failed: number;
  /** A sentence for each thing that is wrong, but for what schemathesis has said itself. */
  readonly problems: readonly string[];
}

const PHASES = ['examples', 'coverage', 'fuzzing', 'stateful'];

/** Counts each operation as a test, and each problem of the run as a failed one: a report that says little has none that passed for nothing. */
export function countOutcomes(report: SchemathesisReport, minExamples: number): Outcomes {
  const { complete, operations, phases, test_cases, failures } = report;
  const problems: string[] = [];
  if (!complete) problems.push('schemathesis did not come to its end');
  if (operations.tested < operations.total || operations.errored > 0) {
    problems.push(
      `of ${operations.total} operations ${operations.tested} were tested, ${operations.errored} with errors`,
    );
  }
  for (const phase of PHASES) {
    // A failure of an operation is counted there.
    const status = phases[phase]?.status;
    if (status !== 'success' && status !== 'failure') problems.push(`the phase ${phase} was not run: ${status}`);
  }
  if (test_cases.generated < minExamples) {
    problems.push(`only ${test_cases.generated} requests were made, of at least ${minExamples}`);
  }
  const failing = new Set(failures.flatMap((failure) => failure.operations)).size;
  return { passed: operations.tested - failing, failed: failing + problems.length, problems };
}
