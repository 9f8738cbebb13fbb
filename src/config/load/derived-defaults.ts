import { isObject } from '../../lib/encoding/is-object.ts';
import { SETTINGS } from '../schema/schema.ts';
import { networksOf, type Path, partAt } from '../schema/setting.ts';
import { settingsOf } from '../schema/variables.ts';

/** Adds the defaults that depend on other settings, which must be valid and have all other defaults. */
export function addDerivedDefaults(settings: unknown): void {
  for (const { path, schema } of settingsOf(SETTINGS, Object.keys(networksOf(settings)))) {
    const key = path.at(-1) ?? '';
    const parent = partAt(settings, path.slice(0, -1));
    if (schema.derived === undefined || !isObject(parent) || Object.hasOwn(parent, key)) continue;
    const value = schema.derived.value({ settings, network: networkAt(settings, path) });
    if (value !== undefined) parent[key] = value;
  }
}

function networkAt(settings: unknown, [section, name = '']: Path) {
  return section === 'networks' ? { name: String(name), settings: partAt(settings, [section, name]) } : undefined;
}
