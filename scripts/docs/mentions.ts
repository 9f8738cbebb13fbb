import { METRIC_PREFIX } from '../../src/telemetry/metrics.ts';

/** What documents may name. */
export interface Mentionable {
  /** Names with their prefix. */
  readonly metrics: ReadonlySet<string>;
  /** Method and path, such as `GET /v1/networks/{network}`. */
  readonly routes: readonly string[];
  /** Names of the scripts in package.json. */
  readonly scripts: ReadonlySet<string>;
  /** The anchors of a file by its path from the document; undefined if there is no such file. */
  anchorsOf(path: string): ReadonlySet<string> | undefined;
  /** Looks a file up by its path in the project. */
  hasProjectFile(path: string): boolean;
}

/** A sentence for each metric, route, npm script, file or anchor that a document names and that does not exist. */
export function wrongMentions(document: string, text: string, known: Mentionable): string[] {
  const metrics = text.matchAll(new RegExp(`\\b${METRIC_PREFIX}[a-z0-9_]*[a-z0-9]\\b(?![*_])`, 'g'));
  const routes = known.routes.map(patternOf);
  const problems = [
    ...Array.from(metrics, ([name]) => name)
      .filter((name) => !known.metrics.has(name) && !known.metrics.has(name.replace(/_(bucket|count|sum)$/, '')))
      .map((name) => `the metric \`${name}\``),
    ...Array.from(text.matchAll(/`((?:GET|POST) \/[^`?\s]*)[^`]*`/g), ([, route = '']) => route)
      .filter((route) => !routes.some((pattern) => pattern.test(route)))
      .map((route) => `the route \`${route}\``),
    ...scriptsIn(text)
      .filter((script) => !known.scripts.has(script))
      .map((script) => `\`npm run ${script}\``),
    ...Array.from(withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#');
        const anchors = path === '' ? anchorsIn(text) : known.anchorsOf(path);
        return anchors === undefined || (anchor !== undefined && !anchors.has(anchor));
      })
      .map((target) => `the link ${target}`),
    ...Array.from(text.matchAll(/`(test\/[\w./-]+\.ts)`/g), ([, path = '']) => path)
      .filter((path) => !known.hasProjectFile(path))
      .map((path) => `the test ${path}`),
  ];
  return [...new Set(problems)].map((problem) => `${document} names ${problem}, which does not exist.`);
}

/** The anchors that GitHub gives the headings of a document. */
export function anchorsIn(text: string): ReadonlySet<string> {
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm);
  return new Set(
    Array.from(headings, ([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** A sentence for each npm script that none of the documents names. */
export function unmentionedScripts(documents: ReadonlyMap<string, string>, scripts: Iterable<string>): string[] {
  const mentioned = new Set([...documents.values()].flatMap(scriptsIn));
  const names = [...documents.keys()].join(' or ');
  return [...scripts]
    .filter((script) => !mentioned.has(script))
    .map((script) => `The script \`${script}\` of package.json is not named in ${names}.`);
}

function scriptsIn(text: string): string[] {
  return [...text.matchAll(/\bnpm (?:run (?:-s )?([a-z][\w:-]*)|(start|test)\b)/g)].map(
    ([, script, short]) => script ?? short ?? '',
  );
}

/** A parameter may be written by its name or by a value, and the end of a path by `…`. */
function patternOf(route: string): RegExp {
  const literal = route.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`^${literal.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('\\*', '.+')}$`);
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
}
