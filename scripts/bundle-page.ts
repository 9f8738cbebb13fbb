// node scripts/bundle-page.ts FOLDER: writes the console's page as browsers load it.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundlePage } from '../src/console/server/bundle-page.ts';

export async function writePage(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const { name, bytes } of await bundlePage()) writeFileSync(join(folder, name), bytes);
}

const [folder] = process.argv.slice(2);
if (import.meta.main && folder !== undefined) await writePage(folder);
