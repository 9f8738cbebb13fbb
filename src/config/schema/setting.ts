import { type Static, type TObject, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox';
import { isObject } from '../../lib/encoding/is-object.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';

/** The location of a setting in the configuration: keys of objects and indices of lists. */
export type Path = readonly (string | number)[];

/**
 * Reports a problem with a value: `at` is the path from that value to the wrong part, `meant` the value that was probably meant.
 * The value itself is added to the text unless it may be a secret.
 */
export type Report = (problem: string, at?: Path, meant?: string) => void;

export interface Setting {
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly derived?: Derived;
  /** The allowed values in words, if the keywords of the schema do not suffice. */
  readonly allowed?: string;
  /** The allowed keys of a map in words. */
  readonly names?: string;
  /** `always`: never shown. `when wrong`: not shown in errors, because the wrong value may be a secret. */
  readonly secret?: 'always' | 'when wrong';
  /** Masks the secret parts of a valid text. */
  readonly masked?: (text: string) => string;
  /** Marks a whole number of milliseconds. */
  readonly isDuration?: boolean;
  /** Marks an object that only groups settings: each of them is set separately. */
  readonly isSection?: boolean;
  /**
   * Checks what the keywords of JSON Schema cannot express, and may return what takes the place of the value. Objects and lists are
   * checked even if some of their parts are wrong, so that all problems are found at once: a check accepts parts of any type. Its
   * parts are checked before, and have their parsed values.
   */
  readonly check?: (value: never, report: Report) => unknown;
}

export interface Derived {
  readonly text: string;
  readonly value: (surroundings: Surroundings) => unknown;
}

/** What a derived default may depend on. To print a configuration, its texts are as written. */
export interface Surroundings {
  /** The whole configuration, with the defaults that depend on nothing, and those derived before. */
  readonly settings: unknown;
  readonly network: { readonly name: string; readonly settings: unknown } | undefined;
}

export interface SettingSchema extends Setting {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, SettingSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, SettingSchema>>;
  readonly items?: SettingSchema;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** An object that groups settings, and is empty by default. */
export function section<P extends TProperties>(description: string, properties: P, more: Setting = {}): TObject<P> {
  return Type.Object(properties, { description, default: {}, isSection: true, additionalProperties: false, ...more });
}

/** A setting that may be left out and has no default. */
export const optional = Type.Optional;

export function text(setting: Setting & { readonly maxLength?: number }) {
  return Type.String({ minLength: 1, ...setting });
}

/** A whole number; its example is its default unless another one is given. */
export function integer(minimum: number, maximum: number, setting: Setting) {
  return Type.Integer({
    minimum,
    maximum,
    ...(setting.default !== undefined && { examples: [setting.default] }),
    ...setting,
  });
}

/** Milliseconds, up to an hour. */
export function durationMs(setting: Setting, minimum = 1) {
  return integer(minimum, 3_600_000, { isDuration: true, ...setting });
}

export function port(setting: Setting) {
  return integer(0, 65_535, setting);
}

/** Adds a check to a schema, see {@link Setting.check}. */
export function check<S extends TSchema>(schema: S, run: (value: Static<S>, report: Report) => void): S {
  // In place: a copy would lose what typebox keeps in hidden properties.
  return Object.assign(schema, { check: run });
}

/** Makes the value of a setting what `parse` returns for its text. */
export function parsed<S extends TSchema, T>(schema: S, parse: (text: Static<S>) => T): TUnsafe<T> {
  return replaced(schema, (text, report) => {
    const value = attempt(() => parse(text));
    if (value instanceof ParseError) report(value.reason);
    return value;
  });
}

/** Makes the value of a setting what `convert` returns, unless it reports a problem. */
export function replaced<S extends TSchema, T>(
  schema: S,
  convert: (value: Static<S>, report: Report) => T | ParseError,
): TUnsafe<T> {
  return Object.assign(schema, { check: convert }) as unknown as TUnsafe<T>;
}

export function schemaAt(schema: SettingSchema, path: Path): SettingSchema | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  const inner = typeof key === 'number' ? schema.items : memberSchema(schema, key);
  return inner === undefined ? undefined : schemaAt(inner, rest);
}

function memberSchema(
  { properties = {}, patternProperties = {} }: SettingSchema,
  key: string,
): SettingSchema | undefined {
  if (Object.hasOwn(properties, key)) return properties[key];
  return Object.entries(patternProperties).find(([pattern]) => new RegExp(pattern).test(key))?.[1];
}

export function partAt(value: unknown, path: Path): unknown {
  let part = value;
  for (const key of path) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key)) return undefined;
    part = (part as Record<string | number, unknown>)[key];
  }
  return part;
}

/** Copies the value with one part set. Returns undefined if the path leads through something that is no object. */
export function withPart(value: unknown, [key, ...rest]: readonly string[], part: unknown): unknown {
  if (key === undefined) return part;
  const object = value ?? {};
  if (!isObject(object)) return undefined;
  const inner = Object.hasOwn(object, key) ? object[key] : undefined;
  const set = withPart(inner, rest, part);
  return set === undefined ? undefined : { ...object, [key]: set };
}

/** Returns the networks of a configuration that may be wrong; empty if there are none. */
export function networksOf(settings: unknown): Record<string, unknown> {
  const networks = partAt(settings, ['networks']);
  return isObject(networks) ? networks : {};
}

/** Formats a path as `networks.fuji.pChainApi[0].baseUrl`. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}
