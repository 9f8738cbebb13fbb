import { isObject, type Path } from '../schema/setting.ts';

export interface Expanded {
  readonly value: unknown;
  /** The variables that the texts name. */
  readonly variables: ReadonlySet<string>;
  /** Those of them that are not set, by the text that names them. */
  readonly missing: readonly { readonly path: Path; readonly variable: string }[];
}

/** Puts the variable NAME in the place of `${NAME}` in all texts, so that secrets need not stand in files. */
export function expandTexts(json: unknown, environment: Readonly<Record<string, string | undefined>>): Expanded {
  const variables = new Set<string>();
  const missing: { path: Path; variable: string }[] = [];
  const expand = (value: unknown, path: Path): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => expand(item, [...path, index]));
    if (isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item, [...path, key])]));
    }
    if (typeof value !== 'string') return value;
    return value.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (written, variable: string) => {
      variables.add(variable);
      const found = environment[variable];
      if (found === undefined) missing.push({ path, variable });
      return found ?? written;
    });
  };
  return { value: expand(json, []), variables, missing };
}
