import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { type CheckResult, filesUnder, GENERATED, ROOT, run, sources } from './project.ts';

export function checkGeneratedCode(): CheckResult {
  const fresh = mkdtempSync(join(tmpdir(), 'generated-'));
  try {
    const { status, output } = run(process.execPath, ['scripts/generate.ts', fresh]);
    if (status !== 0) return { ok: false, summary: 'could not be generated', details: output };
    const expected = filesUnder(fresh).map((file) => relative(fresh, file).replaceAll(sep, '/'));
    const present = sources.filter((file) => GENERATED.test(file));
    const differing = [...new Set([...expected, ...present])].filter(
      (file) =>
        !present.includes(file) || !expected.includes(file) || !sameContent(join(ROOT, file), join(fresh, file)),
    );
    return {
      ok: differing.length === 0 && expected.length > 0,
      summary: `${expected.length} files`,
      details: `not what proto/ and the assembly in src/bls give (npm run generate): ${differing.join(', ') || 'nothing was generated'}`,
    };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function sameContent(a: string, b: string): boolean {
  return readFileSync(a).equals(readFileSync(b));
}
