import { MASK } from '../schema/mask.ts';
import { SETTINGS } from '../schema/schema.ts';
import { networksOf, partAt, pathText, type SettingSchema, schemaAt } from '../schema/setting.ts';
import { settingsOf } from '../schema/variables.ts';
import { addDerivedDefaults } from './derived-defaults.ts';
import { mapTexts } from './expand-texts.ts';
import type { LoadedConfig } from './load-config.ts';
import { addDefaults } from './validate.ts';

/** Returns the configuration in the form of a file, with defaults. Secrets are `***`; `${NAME}` is not expanded. */
export function printableConfig({ given, sourceOf }: LoadedConfig) {
  const written = structuredClone(given);
  addDefaults(written);
  addDerivedDefaults(written);
  const settings = mapTexts(written, (text, path) => masked(schemaAt(SETTINGS, path) ?? {}, text));
  const sources = settingsOf(SETTINGS, Object.keys(networksOf(written))).flatMap(({ path, schema }) => {
    // Of objects such as endpoints, the parts are listed.
    if (schema.properties !== undefined || partAt(settings, path) === undefined) return [];
    return [[pathText(path), sourceOf(path)] as const];
  });
  return { settings, sources: Object.fromEntries(sources) };
}

/** The name of a variable is no secret: a text that is only `${NAME}` stays. */
function masked(schema: SettingSchema, text: string): string {
  if (/^\$\{\w+\}$/.test(text)) return text;
  return schema.masked?.(text) ?? (schema.secret === 'always' ? MASK : text);
}
