import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { anchorsIn, unmentionedScripts, wrongMentions } from '../docs/mentions.ts';
import { describeService } from '../docs/service.ts';
import {
  type CheckResult,
  filesUnder,
  documents as markdownFiles,
  ROOT,
  resultOfProblems,
  toProjectPath,
} from './project.ts';

/** Where people look for what they may run. */
const DOCUMENTS_OF_SCRIPTS = ['README.md', 'CONTRIBUTING.md'];

/** Documents name no metric, route, npm script, file or anchor that does not exist, and every npm script is in one of them. */
export async function checkMentions(): Promise<CheckResult> {
  const deployed = ['grafana', 'prometheus'].flatMap((folder) => filesUnder(join(ROOT, 'deploy', folder)));
  const files = [...markdownFiles(), ...deployed.map(toProjectPath)];
  const documents = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const scripts = Object.keys(manifest.scripts);
  const { metrics, routes } = await describeService();
  const known = {
    metrics: new Set(metrics.map(({ name }) => name)),
    routes: routes.map(({ name }) => name),
    scripts: new Set(scripts),
  };
  const problems = [...documents].flatMap(([file, text]) =>
    wrongMentions(file, text, {
      ...known,
      anchorsOf(path) {
        const target = join(dirname(file), path);
        const linked = documents.get(target);
        if (linked !== undefined) return anchorsIn(linked);
        return existsSync(join(ROOT, target)) ? new Set() : undefined;
      },
      hasProjectFile: (path) => existsSync(join(ROOT, path)),
    }),
  );
  const readable = new Map(DOCUMENTS_OF_SCRIPTS.map((file) => [file, documents.get(file) ?? '']));
  return resultOfProblems([...problems, ...unmentionedScripts(readable, scripts)], `${documents.size} files`);
}
