import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the code blocks of a page in one language, in their order. @param file such as `docs/bridge.md` */
export function snippetsOf(file: string, language: 'python' | 'sh' | 'solidity' | 'ts'): readonly string[] {
  const page = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
  const blocks = page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'));
  return [...blocks].map(([, code = '']) => code);
}
