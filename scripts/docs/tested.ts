/** What tests have to name, by the folder of those tests. */
export interface Named {
  /** For people, such as `error code`. */
  readonly kind: string;
  readonly folder: string;
  readonly names: readonly string[];
}

/**
 * A sentence for each name that no test of its folder contains. A route is found by its path, in which a parameter may have any value.
 *
 * @param tests files of test/ by path
 */
export function unnamedInTests(all: readonly Named[], tests: ReadonlyMap<string, string>): string[] {
  return all.flatMap(({ kind, folder, names }) => {
    const text = [...tests].flatMap(([file, content]) => (file.startsWith(folder) ? [content] : [])).join('\n');
    return names
      .filter((name) => !patternOf(name).test(text))
      .map((name) => `No test below ${folder} names the ${kind} \`${name}\`.`);
  });
}

function patternOf(name: string): RegExp {
  const [, path] = name.split(' ');
  if (path === undefined) return new RegExp(`(?<![\\w-])${name}(?!\\w)`);
  const literal = path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`${literal.replaceAll(/\{\w+\}/g, '[^/\\s]+').replaceAll('\\*', '.+')}['"\`?$]`);
}
