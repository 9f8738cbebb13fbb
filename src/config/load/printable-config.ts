import { SETTINGS } from '../schema/schema.ts';
import { isObject, partAt, pathText, type SettingSchema } from '../schema/setting.ts';
import type { LoadedConfig } from './load-config.ts';
import { MASK } from './mask.ts';
import { schemaAt } from './problems.ts';
import { settingsOf } from './variables.ts';

export interface PrintableConfig {
  /** The configuration as a file has it, with defaults and without secrets: `***`, and `${NAME}` as it was written. */
  readonly settings: unknown;
  /** Where the value of each setting comes from. */
  readonly sources: Readonly<Record<string, string>>;
}

/** The configuration for people to look at and to show around. */
export function printableConfig({ written, sourceOf }: LoadedConfig): PrintableConfig {
  const settings = masked(SETTINGS, written);
  const sources = settingsOf(SETTINGS, Object.keys(written.networks)).flatMap(({ path, schema }) => {
    // Of an endpoint and the like its parts are named, and what is not set is not there.
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

/** A text that is only `${NAME}`: the name of a variable is no secret. */
function isReference(text: string): boolean {
  return /^\$\{\w+\}$/.test(text);
}
