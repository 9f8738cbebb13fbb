// node scripts/compile.ts: what `npm pack` puts into the package, as Node runs no TypeScript below node_modules.

import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, run } from './checks/project.ts';

// What is no more in src must not be in the package.
rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
const { status, output } = run('tsc', ['--project', 'tsconfig.package.json']);
// Where the compiled service looks for the guides that its page of the API has.
for (const guides of ['README.md', 'docs']) cpSync(join(ROOT, guides), join(ROOT, 'dist', guides), { recursive: true });
// Of the console, what no compiler makes.
const PAGE = join('src', 'console', 'page');
for (const file of readdirSync(join(ROOT, PAGE)).filter((name) => /\.(?:html|css|svg)$/.test(name))) {
  cpSync(join(ROOT, PAGE, file), join(ROOT, 'dist', PAGE, file));
}
process.stdout.write(output);
process.exitCode = status;
