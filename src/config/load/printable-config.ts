import { MASK } from '../schema/mask.ts';
import { SETTINGS } from '../schema/schema.ts';
import { isObject, partAt, pathText, type SettingSchema, schemaAt } from '../schema/setting.ts';
import { settingsOf } from '../schema/variables.ts';
import type { LoadedConfig } from './load-config.ts';

/** Returns the configuration in the form of a file, with defaults. Secrets are `***`; `${NAME}` is not expanded. */
export function printableConfig({ written, sourceOf }: LoadedConfig) {
  const settings = masked(SETTINGS, written);
  const sources = settingsOf(SETTINGS, Object.keys(written.networks)).flatMap(({ path, schema }) => {
    // Of objects such as endpoints, the parts are listed.
    if (schema.properties !== undefined || partAt(settings, path) === undefined) return [];
    return [[pathText(path), sourceOf(path)] as const];
  });
  return { settings, sources: Object.fromEntries(sources) };
}

function masked(schema: SettingSchema, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => masked(schema.items ?? {}, item));
  if (isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, masked(schemaAt(schema, [key]) ?? {}, item)]),
    );
  }
  if (typeof value !== 'string' || isReference(value)) return value;
  return schema.masked?.(value) ?? (schema.secret === 'always' ? MASK : value);
}

/** Tests for a text that is only `${NAME}`: the name of a variable is no secret. */
function isReference(text: string): boolean {
  return /^\$\{\w+\}$/.test(text);
}
