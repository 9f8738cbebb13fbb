import { METRIC_PREFIX } from '../../src/telemetry/metrics.ts';

/** What documents may mention, because it is there. */
export interface Mentionable {
  /** With the prefix. */
  readonly metrics: ReadonlySet<string>;
  /** Such as `GET /v1/networks/{network}`. */
  readonly routes: readonly string[];
  /** Of package.json. */
  readonly scripts: ReadonlySet<string>;
  /** By its path from the document. */
  hasFile(path: string): boolean;
  /** By its path in the project. */
  hasProjectFile(path: string): boolean;
}

/** A sentence for each metric, route, npm script or file that a document names and that is not there. */
export function wrongMentions(document: string, text: string, known: Mentionable): string[] {
  const problems: string[] = [];
  for (const [name] of text.matchAll(new RegExp(`\\b${METRIC_PREFIX}[a-z0-9_]*[a-z0-9]\\b(?![*{_])`, 'g'))) {
    const metric = name.replace(/_(bucket|count|sum)$/, '');
    if (!known.metrics.has(name) && !known.metrics.has(metric)) {
      problems.push(`${document} names the metric \`${name}\`, which no file of src declares.`);
    }
  }
  const routes = known.routes.map(patternOf);
  for (const [, route = ''] of text.matchAll(/`((?:GET|POST) \/[^`?\s]*)[^`]*`/g)) {
    if (!routes.some((pattern) => pattern.test(route))) {
      problems.push(`${document} names the route \`${route}\`, which the service has not.`);
    }
  }
  for (const script of scriptsIn(text)) {
    if (!known.scripts.has(script))
      problems.push(`${document} names \`npm run ${script}\`, which package.json has not.`);
  }
  for (const [, target = ''] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
    const [path = ''] = target.split('#');
    if (path === '' || /^[a-z]+:/.test(path)) continue;
    if (!known.hasFile(path)) problems.push(`${document} links to ${path}, which is not there.`);
  }
  for (const [, path = ''] of text.matchAll(/`(test\/[\w./-]+\.ts)`/g)) {
    if (!known.hasProjectFile(path)) problems.push(`${document} names the test ${path}, which is not there.`);
  }
  return [...new Set(problems)];
}

/** A sentence for each npm script that none of the documents speaks of. */
export function unmentionedScripts(documents: ReadonlyMap<string, string>, scripts: Iterable<string>): string[] {
  const mentioned = new Set([...documents.values()].flatMap(scriptsIn));
  const names = [...documents.keys()].join(' nor ');
  return [...scripts]
    .filter((script) => !mentioned.has(script))
    .map((script) => `package.json has the script \`${script}\`, of which neither ${names} speaks.`);
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
