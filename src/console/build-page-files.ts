import { readdir, readFile } from 'node:fs/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/**
 * The process that makes the page's files, once, when the service is ready or the page is first asked for: types are stripped, and everything is compressed.
 * It takes a tenth of a second, in which the event loop has better things to do.
 */

export interface BuiltFile {
  /** As the page asks for it. */
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly gzip: Uint8Array;
}

const PAGE = join(import.meta.dirname, 'page');
/** `.js` is what the TypeScript was compiled to where the service runs from a package. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** The libraries: the name that the page imports, the package, its file, and the name it is served under. */
const LIBRARIES = [
  { specifier: 'preact', packageName: 'preact', file: 'dist/preact.mjs', name: 'preact.js' },
  { specifier: 'preact/hooks', packageName: 'preact', file: 'hooks/dist/hooks.mjs', name: 'preact-hooks.js' },
  { specifier: 'uplot', packageName: 'uplot', file: 'dist/uPlot.esm.js', name: 'uplot.js' },
  { specifier: undefined, packageName: 'uplot', file: 'dist/uPlot.min.css', name: 'uplot.css' },
] as const;

/** In `index.html`: where the modules are named that the first view needs, so that they are not found out one after the other. */
const PRELOADS = '<!-- modules -->';
/** Charts are of other views, and are asked for when one is opened. */
const LATER = /^(?:line-chart|chart-span|uplot)\.js$/;

async function buildFiles(): Promise<BuiltFile[]> {
  const own = (await readdir(PAGE)).filter((file) => CONTENT_TYPES[extname(file)] !== undefined);
  const scripts = [...own, ...LIBRARIES.map(({ name }) => name)]
    .map(servedName)
    .filter((name) => name.endsWith('.js') && !LATER.test(name));
  const preloads = scripts.map((name) => `<link rel="modulepreload" href="console/${name}">`).join('\n');
  const require = createRequire(import.meta.url);
  return Promise.all([
    ...own.map(async (file) => {
      const text = await readFile(join(PAGE, file), 'utf8');
      const script = extname(file) === '.ts' ? stripTypeScriptTypes(text) : text;
      return build(servedName(file), script.replace(PRELOADS, preloads));
    }),
    ...LIBRARIES.map(async ({ packageName, file, name }) => {
      const folder = dirname(require.resolve(`${packageName}/package.json`));
      return build(name, await readFile(join(folder, file), 'utf8'));
    }),
  ]);
}

function servedName(file: string): string {
  return file.replace(/\.ts$/, '.js');
}

function build(name: string, text: string): BuiltFile {
  const isScript = extname(name) === '.js';
  const bytes = Buffer.from(isScript ? addressImports(text) : text);
  const contentType = CONTENT_TYPES[extname(name)] ?? 'application/octet-stream';
  return { name, contentType, bytes, gzip: gzipSync(bytes, { level: 9 }) };
}

/** Browsers know no packages, and no TypeScript: a module is named by the file that is served. */
function addressImports(script: string): string {
  return script
    .replaceAll(
      /(\b(?:from|import)\s*\(?\s*)(['"])([^'"\n]+)\2/g,
      (whole, before: string, quote: string, specifier: string) => {
        const library = LIBRARIES.find((known) => known.specifier === specifier);
        if (library !== undefined) return `${before}${quote}./${library.name}${quote}`;
        return specifier.startsWith('./') ? whole.replace(/\.ts(['"])$/, '.js$1') : whole;
      },
    )
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, '');
}

process.send?.(await buildFiles(), () => process.disconnect?.());
