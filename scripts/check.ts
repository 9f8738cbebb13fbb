// node scripts/check.ts [REPORT]: runs every check of the code, all of them even where one fails, and exits non-zero if one did.
// REPORT is a file to write the counts to, as JSON {passed, failed}.
//
// Some of these tools succeed when they find nothing to look at. So each says which files it looked at or how many, and that
// is held against the files that are there.

import { writeFileSync } from 'node:fs';
import { checkDashboards } from './checks/dashboards.ts';
import { checkDeadCode } from './checks/dead-code.ts';
import { checkFormat } from './checks/format.ts';
import { checkGeneratedCode } from './checks/generated-code.ts';
import { checkLayout } from './checks/layout.ts';
import { checkLint } from './checks/lint.ts';
import { checkMentions } from './checks/mentions.ts';
import type { CheckResult } from './checks/project.ts';
import { referenceSteps } from './checks/references.ts';
import { checkSettings } from './checks/settings.ts';
import { checkTested } from './checks/tested.ts';
import { checkTypes } from './checks/type-check.ts';

const STEPS: Record<string, () => CheckResult | Promise<CheckResult>> = {
  types: checkTypes,
  format: checkFormat,
  lint: checkLint,
  layout: checkLayout,
  'dead code': checkDeadCode,
  'generated code': checkGeneratedCode,
  settings: checkSettings,
  ...referenceSteps,
  dashboards: checkDashboards,
  mentions: checkMentions,
  tested: checkTested,
};

/** A step that breaks has failed, and the others are run all the same: what broke it is what there is to say. */
async function outcomeOf(step: () => CheckResult | Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await step();
  } catch (error) {
    return { ok: false, summary: 'broke off', details: error instanceof Error ? error.message : String(error) };
  }
}

let failed = 0;
for (const [name, step] of Object.entries(STEPS)) {
  const startMs = performance.now();
  const result = await outcomeOf(step);
  if (!result.ok) {
    failed++;
    console.log(result.details.trimEnd());
  }
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(`${result.ok ? 'ok  ' : 'FAIL'} ${name} (${seconds} s): ${result.summary}`);
}
const passed = Object.keys(STEPS).length - failed;
console.log(`check: ${passed} of ${passed + failed} steps passed`);
const report = process.argv[2];
if (report !== undefined) writeFileSync(report, JSON.stringify({ passed, failed }));
process.exitCode = failed > 0 ? 1 : 0;
