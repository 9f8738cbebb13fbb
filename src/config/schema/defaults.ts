import { SETTINGS } from './schema.ts';
import { isObject, type Path, pathText, type SettingSchema, type Surroundings } from './setting.ts';

export interface Completed {
  readonly settings: unknown;
  /** Paths of the defaults that were derived from other settings, as `pathText` writes them. */
  readonly derived: ReadonlySet<string>;
}

/** Completes a configuration with all defaults. Values of a wrong type stay unchanged, for the checks that follow. */
export function withDefaults(json: unknown): Completed {
  const settings = filled(SETTINGS, json);
  const derived = new Set<string>();
  fillDerived({ schema: SETTINGS, value: settings, path: [], surroundings: { settings, network: undefined } }, derived);
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

interface SettingValue {
  readonly schema: SettingSchema;
  readonly value: unknown;
  readonly path: Path;
  readonly surroundings: Surroundings;
}

function fillDerived({ schema, value, path, surroundings }: SettingValue, derived: Set<string>): void {
  if (!isObject(value)) return;
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    const at = [...path, key];
    if (Object.hasOwn(value, key)) {
      fillDerived({ schema: inner, value: value[key], path: at, surroundings }, derived);
      continue;
    }
    const derivedValue = inner.derived?.value(surroundings);
    if (derivedValue === undefined) continue;
    value[key] = structuredClone(derivedValue);
    derived.add(pathText(at));
  }
  // The one map whose values are sections is that of the networks.
  const [network] = Object.values(schema.patternProperties ?? {});
  if (network?.isSection !== true) return;
  for (const [name, settings] of Object.entries(value)) {
    const place = { schema: network, value: settings, path: [...path, name] };
    fillDerived({ ...place, surroundings: { ...surroundings, network: { name, settings } } }, derived);
  }
}
