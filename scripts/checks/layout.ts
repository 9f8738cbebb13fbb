import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { circleOf, folderOf, scatteredFolders, unplacedFolders, unusedLists, wrongImports } from '../layers.ts';
import { type CheckResult, GENERATED, ROOT, resultOfProblems, sources } from './project.ts';

const MAX_FILES_OF_FOLDER = 14;
const MAX_LINES_OF_FILE = 400;

/** Checks the folders of src: a layer for each, imports that follow the layers, few files in a folder and few lines in a file. */
export function checkLayout(): CheckResult {
  const files = sources.filter((file) => file.startsWith('src/'));
  const folders = Map.groupBy(files, folderOf);
  const texts = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  const long = [...texts].flatMap(([file, text]) => {
    const lines = text.split('\n').length - 1;
    return lines > MAX_LINES_OF_FILE && !GENERATED.test(file)
      ? [`${file} has ${lines} lines, of at most ${MAX_LINES_OF_FILE}`]
      : [];
  });
  const full = [...folders].flatMap(([folder, { length }]) =>
    length > MAX_FILES_OF_FOLDER ? [`src/${folder} has ${length} files, of at most ${MAX_FILES_OF_FOLDER}`] : [],
  );
  const imports = [...texts].flatMap(([file, text]) =>
    importsOf(file, text)
      .map((path) => ({ from: file, to: join(dirname(file), path).replaceAll('\\', '/') }))
      .filter(({ to }) => to !== 'package.json'),
  );
  const problems = [
    ...unplacedFolders([...folders.keys()]).map((folder) => `src/${folder} has no layer in scripts/layers.ts`),
    ...full,
    ...long,
    ...wrongImports(imports),
    ...unusedLists(imports),
    ...scatteredFolders().map(
      (folder) => `the layers of src/${folder} are not next to each other in scripts/layers.ts`,
    ),
  ];
  const circle = circleOf(imports);
  if (circle !== undefined) problems.push(`a circle of imports: ${circle.join(' > ')}`);
  if (imports.length === 0) problems.push('no import was found in src');
  return resultOfProblems(problems, `${folders.size} folders, ${files.length} files, ${imports.length} imports of src`);
}

/** @returns the relative paths that a file imports, types included */
function importsOf(file: string, text: string): string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync(file, text).module;
  const paths = [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) => entries.map(({ moduleRequest }) => moduleRequest?.value ?? '')),
    ...dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start + 1, moduleRequest.end - 1)),
  ];
  return paths.filter((path) => path.startsWith('.'));
}
