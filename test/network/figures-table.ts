import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** JSON lines of `{name, value}`. */
    figuresFile: string;
  }
}

/** Runs once around all test files, and prints the figures of all their processes as one table. */
export default function setup({ provide }: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'figures-'));
  const file = join(directory, 'figures.jsonl');
  provide('figuresFile', file);
  return () => {
    if (existsSync(file)) print(readFileSync(file, 'utf8'));
    rmSync(directory, { recursive: true });
  };
}

function print(lines: string): void {
  const figures = lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; value: string });
  const width = Math.max(...figures.map(({ name }) => name.length));
  const rows = figures.map(({ name, value }) => `  ${name.padEnd(width)}  ${value}`);
  console.log(`\nMeasured on the real network:\n${rows.join('\n')}\n`);
}
