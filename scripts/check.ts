// node scripts/check.ts [--details] [NAME...]: runs the named checks, or all of them, also after one fails; exits with 1 if one did. With
// --details it prints what a passing check found, too. Writes the counts as JSON {passed, failed} to .cache/test-results/check.json.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkLayout } from './checks/layout.ts';
import { type CheckResult, ROOT } from './checks/project.ts';
import { checkReferences } from './checks/references.ts';
import { checkDeadCode, checkFormat, checkGeneratedCode, checkLint, checkTypes } from './checks/tools.ts';

const STEPS: Record<string, () => CheckResult | Promise<CheckResult>> = {
  types: checkTypes,
  format: checkFormat,
  lint: checkLint,
  layout: checkLayout,
  'dead code': checkDeadCode,
  'generated code': checkGeneratedCode,
  references: checkReferences,
};

/** Runs a step; one that throws has failed. */
async function outcomeOf(step: () => CheckResult | Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await step();
  } catch (error) {
    return { ok: false, summary: 'threw', details: error instanceof Error ? error.message : String(error) };
  }
}

const DETAILS = '--details';
const names = process.argv.slice(2).filter((arg) => arg !== DETAILS);
const showsDetails = process.argv.includes(DETAILS);
const unknown = names.filter((name) => STEPS[name] === undefined);
if (unknown.length > 0) {
  console.error(`no such check: ${unknown.join(', ')}; the checks are ${Object.keys(STEPS).join(', ')}`);
  process.exit(2);
}
let failed = 0;
const steps = Object.entries(STEPS).filter(([name]) => names.length === 0 || names.includes(name));
for (const [name, step] of steps) {
  const startMs = performance.now();
  const result = await outcomeOf(step);
  if (!result.ok) failed++;
  if (!result.ok || showsDetails) console.log(result.details.trimEnd());
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(`${result.ok ? 'ok  ' : 'FAIL'} ${name} (${seconds} s): ${result.summary}`);
}
const passed = steps.length - failed;
console.log(`check: ${passed} of ${passed + failed} steps passed`);
const results = join(ROOT, '.cache', 'test-results');
mkdirSync(results, { recursive: true });
writeFileSync(join(results, 'check.json'), JSON.stringify({ passed, failed }));
process.exitCode = failed > 0 ? 1 : 0;
