import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A folder and those above it, where they are not there; `mode` is that of each that is made. `mkdirSync` with `recursive` would
 * never return where a folder is there in which none can be made, such as /proc.
 */
export function createFolder(directory: string, mode?: number): void {
  const parent = dirname(directory);
  if (statSync(directory, { throwIfNoEntry: false }) !== undefined) return;
  if (parent !== directory) createFolder(parent, mode);
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    // Another process that starts at the same time was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
