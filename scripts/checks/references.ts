import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from '../docs/generated-files.ts';
import { type CheckResult, ROOT, resultOfProblems } from './project.ts';

/** The generated references are what the source gives, and the source breaks none of their rules. */
export async function checkReferences(): Promise<CheckResult> {
  const { files, problems } = await generatedFiles();
  const differing = [...files].filter(([file, text]) => {
    const path = join(ROOT, file);
    return !existsSync(path) || readFileSync(path, 'utf8') !== text;
  });
  return resultOfProblems(
    [...problems, ...differing.map(([file]) => `${file} differs from what the source gives: npm run generate`)],
    `${files.size} files`,
  );
}
