import { checkSettingsDocs } from '../settings-docs.ts';
import type { CheckResult } from './project.ts';

/** That config/README.md and the schema of the settings say the same, and that each setting has its words. */
export function checkSettings(): CheckResult {
  const { problems } = checkSettingsDocs();
  const details = `${problems.join('\n')}\n(npm run generate writes the tables anew)`;
  return { ok: problems.length === 0, summary: 'config/README.md is what the schema gives', details };
}
