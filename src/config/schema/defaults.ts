import { isObject } from '../../lib/encoding/is-object.ts';
import { SETTINGS } from './schema.ts';
import { networksOf, partAt, pathText, type SettingSchema } from './setting.ts';
import { settingsOf } from './variables.ts';

/**
 * Completes a configuration with all defaults. Values of a wrong type stay unchanged, for the checks that follow.
 *
 * @returns also `derived`, the paths of the defaults that were derived from other settings, as `pathText` writes them
 */
export function withDefaults(json: unknown) {
  const settings = filled(SETTINGS, json);
  const derived = new Set<string>();
  for (const { path, schema } of settingsOf(SETTINGS, Object.keys(networksOf(settings)))) {
    const key = path.at(-1) ?? '';
    const parent = partAt(settings, path.slice(0, -1));
    if (schema.derived === undefined || !isObject(parent) || Object.hasOwn(parent, key)) continue;
    const [section, name = ''] = path;
    const network = section === 'networks' ? { name, settings: partAt(settings, [section, name]) } : undefined;
    const value = schema.derived.value({ settings, network });
    if (value === undefined) continue;
    parent[key] = structuredClone(value);
    derived.add(pathText(path));
  }
  return { settings, derived };
}

function filled(schema: SettingSchema, value: unknown = structuredClone(schema.default)): unknown {
  const { properties = {}, patternProperties = {}, items } = schema;
  if (Array.isArray(value) && items !== undefined) return value.map((item) => filled(items, item));
  if (!isObject(value)) return structuredClone(value);
  const copy = structuredClone(value);
  for (const [key, inner] of Object.entries(properties)) {
    const completed = filled(inner, value[key]);
    if (completed !== undefined) copy[key] = completed;
  }
  for (const [pattern, inner] of Object.entries(patternProperties)) {
    const names = new RegExp(pattern, 'u');
    for (const key of Object.keys(value)) if (names.test(key)) copy[key] = filled(inner, value[key]);
  }
  return copy;
}
