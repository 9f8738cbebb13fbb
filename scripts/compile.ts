// node scripts/compile.ts: what `npm pack` puts into the package, as Node runs no TypeScript below node_modules.

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePage } from './bundle-page.ts';
import { ROOT, run } from './checks/project.ts';
import { writeOpenApi } from './docs/open-api.ts';

// What is no more in src must not be in the package.
rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
const { status, output } = run('tsc', ['--project', 'tsconfig.package.json']);
for (const name of ['docs.css', 'icon.svg']) {
  cpSync(join(ROOT, 'src', 'api', 'openapi', name), join(ROOT, 'dist', 'src', 'api', 'openapi', name));
}
// The console's page is shipped as its bundle.
await writePage(join(ROOT, 'dist', 'src', 'console', 'bundle'));
await writeOpenApi(join(ROOT, 'docs', 'openapi.json'));
// One shell script starts both programs, by its name.
const SCRIPT = join(ROOT, 'src', 'signature-aggregator');
for (const name of ['signature-aggregator', 'warp-signature-aggregator'])
  cpSync(SCRIPT, join(ROOT, 'dist', 'src', name));
process.stdout.write(output);
process.exitCode = status;
