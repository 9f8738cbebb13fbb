import { SETTINGS } from '../../src/config/schema/schema.ts';
import { readSource } from '../docs/references.ts';
import { problemsOfHanding } from '../docs/settings-of-source.ts';
import { checkSettingsDocs } from '../settings-docs.ts';
import { type CheckResult, resultOfProblems } from './project.ts';

/** That config/README.md and the schema say the same, and that each setting has its words and reaches those who need it. */
export function checkSettings(): CheckResult {
  return resultOfProblems(
    [...checkSettingsDocs().problems, ...problemsOfHanding(SETTINGS, readSource())],
    'each documented in config/README.md, handed on and read',
  );
}
