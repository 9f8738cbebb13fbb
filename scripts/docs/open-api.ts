import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeService } from './service.ts';

/** Writes the OpenAPI document of this release, in which `{network}` is any text. */
export async function writeOpenApi(file: string): Promise<void> {
  const { openApi } = await describeService();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(openApi, undefined, 2)}\n`);
}
