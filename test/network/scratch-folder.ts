import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { pollUntil } from './poll-until.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Has a folder for each network. */
    networksFolder: string;
    /** Whether no file was selected. */
    isWholeRun: boolean;
  }
}

/** The helper of a network kills its nodes, and then deletes their folder. */
const ENDED_TIMEOUT_MS = 20_000;

/** Returns what waits, after all tests, until no network is left of them. */
export default function setup({ provide }: TestProject): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'real-networks-'));
  provide('networksFolder', folder);
  return async () => {
    await pollUntil(
      async () => readdirSync(folder),
      ({ length }) => length === 0,
      ENDED_TIMEOUT_MS,
    );
    rmdirSync(folder);
  };
}
