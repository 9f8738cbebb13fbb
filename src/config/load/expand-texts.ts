import { isObject } from '../../lib/encoding/is-object.ts';
import type { Path } from '../schema/setting.ts';
import type { Environment } from '../schema/variables.ts';

/**
 * Replaces `${NAME}` in all texts by the variable NAME, so that files need no secrets.
 *
 * @returns also the named variables, and those of them that are not set, with the path of the text
 */
export function expandTexts(json: unknown, environment: Environment) {
  const variables = new Set<string>();
  const missing: { path: Path; variable: string }[] = [];
  const value = mapTexts(json, (text, path) =>
    text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (reference, variable: string) => {
      variables.add(variable);
      const found = environment[variable];
      if (found === undefined) missing.push({ path, variable });
      return found ?? reference;
    }),
  );
  return { value, variables, missing };
}

/** Copies a value with each of its texts replaced. */
export function mapTexts(value: unknown, replace: (text: string, path: Path) => string, path: Path = []): unknown {
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, replace, [...path, index]));
  if (isObject(value)) {
    const parts = Object.entries(value).map(([key, part]) => [key, mapTexts(part, replace, [...path, key])]);
    return Object.fromEntries(parts);
  }
  return typeof value === 'string' ? replace(value, path) : value;
}
