import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { problemsOfTable } from '../docs/reference-table.ts';
import { REFERENCES } from '../docs/references.ts';
import { type CheckResult, ROOT, resultOfProblems } from './project.ts';

/** For each of the reference documents: that it says what the source has, and that the source breaks none of its rules. */
export const referenceSteps: Readonly<Record<string, () => Promise<CheckResult>>> = Object.fromEntries(
  Object.entries(REFERENCES).map(([name, read]) => [
    name,
    async () => {
      const { table, problems } = await read();
      const text = readFileSync(join(ROOT, table.file), 'utf8');
      return resultOfProblems([...problems, ...problemsOfTable(text, table)], `${table.rows.length} in ${table.file}`);
    },
  ]),
);
