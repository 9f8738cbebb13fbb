import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents, all with this mode. `mkdirSync` with `recursive` never returns below a folder such as /proc,
 * in which none can be created.
 */
export function createFolder(directory: string, mode?: number): void {
  const parent = dirname(directory);
  if (statSync(directory, { throwIfNoEntry: false }) !== undefined) return;
  if (parent !== directory) createFolder(parent, mode);
  try {
    mkdirSync(directory, { mode });
  } catch (error) {
    // Another process may have created it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
