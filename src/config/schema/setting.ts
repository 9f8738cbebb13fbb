import type { Static, TObject, TProperties, TSchema } from 'typebox';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { Type } from '../../lib/encoding/schema.ts';

/** Where a setting stands in the configuration: keys of objects and indices of lists. */
export type Path = readonly (string | number)[];

/**
 * Says what is wrong with a value; `at` is the way from that value to the part of it that is wrong, `meant` what was probably meant.
 * The value itself is added where it may be shown.
 */
export type Report = (problem: string, at?: Path, meant?: string) => void;

/** What we write into the schema of a setting, beside the keywords of JSON Schema. */
export interface Setting {
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  /** The default where it depends on other settings or on the machine: in words for the tables, and as a function. */
  readonly derived?: Derived;
  /** What is allowed, in words, where the keywords of the schema do not say enough. */
  readonly allowed?: string;
  /** What the keys of a map may be, in words. */
  readonly names?: string;
  /** `always`: never shown. `when wrong`: not shown in errors, as somebody may have put a secret there. */
  readonly secret?: 'always' | 'when wrong';
  /** What is shown of a valid text in place of the whole. */
  readonly masked?: (text: string) => string;
  /** An object that only groups settings: each of them is set by itself. */
  readonly isSection?: boolean;
  /**
   * What the keywords cannot say. Of objects and lists it is asked even where their parts are wrong, so that all errors are
   * found at once: it must put up with any parts.
   */
  readonly check?: (value: never, report: Report) => void;
}

export interface Derived {
  readonly text: string;
  /** Undefined where there is none. */
  readonly value: (surroundings: Surroundings) => unknown;
}

/** What a derived default may depend on; nothing of it has been checked yet. */
export interface Surroundings {
  /** The whole configuration, with the defaults that depend on nothing. */
  readonly settings: unknown;
  /** The network that the setting belongs to, if it belongs to one. */
  readonly network: { readonly name: string; readonly settings: unknown } | undefined;
}

/** A schema as this folder's code walks it: an object, a map, a list, or a plain value. */
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
export function optional<S extends TSchema>(schema: S) {
  return Type.Optional(schema);
}

/** A schema with a check of its own, see {@link Setting.check}. */
export function check<S extends TSchema>(schema: S, run: (value: Static<S>, report: Report) => void): S {
  // In place: a copy would lose what typebox keeps in hidden properties.
  return Object.assign(schema, { check: run });
}

/** A schema of texts that a parser must take. */
export function parsed<S extends TSchema>(schema: S, parse: (text: Static<S>) => unknown): S {
  return check(schema, (text, report) => {
    try {
      parse(text);
    } catch (cause) {
      if (!(cause instanceof ParseError)) throw cause;
      report(cause.reason);
    }
  });
}

/** An object as JSON has it: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The part of a value at the end of a path; undefined where the path leaves the value. */
export function partAt(value: unknown, path: Path): unknown {
  let part = value;
  for (const key of path) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key)) return undefined;
    part = (part as Record<string | number, unknown>)[key];
  }
  return part;
}

/** `networks.fuji.pChainApi[0].baseUrl` */
export function pathText(path: Path): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}
