import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unmentionedScripts, wrongMentions } from '../docs/mentions.ts';
import { namesIn } from '../docs/references.ts';
import { type CheckResult, filesUnder, ROOT, resultOfProblems, toProjectPath } from './project.ts';

/** Where people look for what they may run. */
const DOCUMENTS_OF_SCRIPTS = ['README.md', 'CONTRIBUTING.md'];

/** Documents name no metric, route, npm script or file that is not there, and every npm script is in one of them. */
export async function checkMentions(): Promise<CheckResult> {
  const documents = new Map(findDocuments().map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const scripts = Object.keys(manifest.scripts);
  const [metrics, routes] = await Promise.all(['metrics', 'routes'].map(namesIn));
  const known = { metrics: new Set(metrics), routes: routes ?? [], scripts: new Set(scripts) };
  const problems = [...documents].flatMap(([file, text]) =>
    wrongMentions(file, text, {
      ...known,
      hasFile: (path) => existsSync(join(ROOT, dirname(file), path)),
      hasProjectFile: (path) => existsSync(join(ROOT, path)),
    }),
  );
  const readable = new Map(DOCUMENTS_OF_SCRIPTS.map((file) => [file, documents.get(file) ?? '']));
  return resultOfProblems([...problems, ...unmentionedScripts(readable, scripts)], `${documents.size} documents`);
}

/** Every Markdown file of the project; what is installed or cached is another's. */
function findDocuments(): string[] {
  const folders = ['.ci', 'bench', 'config', 'docs', 'proto', 'scripts', 'src', 'test'].filter((folder) =>
    existsSync(join(ROOT, folder)),
  );
  return [
    ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
    ...folders
      .flatMap((folder) => filesUnder(join(ROOT, folder)).map(toProjectPath))
      .filter((file) => file.endsWith('.md')),
  ];
}
