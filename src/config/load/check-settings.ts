import { isObject } from '../../lib/encoding/is-object.ts';
import { nearestName } from '../../lib/encoding/nearest-name.ts';
import { removedSetting } from '../schema/removed-settings.ts';
import { type Path, partAt, pathText, type SettingSchema, schemaAt } from '../schema/setting.ts';

export interface ProblemsOptions {
  /** Returns the variable or option that a value comes from; undefined for the file and the defaults. */
  readonly sourceOf: (path: Path) => string | undefined;
  /** Whether a value must not be shown, independent of its setting. */
  readonly isHidden: (path: Path) => boolean;
  /** Whether a value was copied from another setting: its problems are reported there. */
  readonly isCopy: (path: Path) => boolean;
}

/** Collects problems, at most one for each path: later ones at the same path follow from the first. */
export class Problems {
  readonly #lines = new Map<string, string>();
  readonly #options: ProblemsOptions;

  constructor(options: ProblemsOptions) {
    this.#options = options;
  }

  get lines(): string[] {
    return [...this.#lines.values()];
  }

  isCopy(path: Path): boolean {
    return this.#options.isCopy(path);
  }

  add(path: Path, problem: string): void {
    const source = this.#options.sourceOf(path);
    const at = path.length === 0 ? 'the configuration' : pathText(path);
    this.addLine(`${at}${source === undefined ? '' : ` (${source})`}: ${problem}`, at);
  }

  /** Adds a problem without a path, such as a variable of no setting. */
  addLine(line: string, key = line): void {
    if (!this.#lines.has(key)) this.#lines.set(key, line);
  }

  /** Adds a problem with a value; the value is shown unless it may be a secret. */
  addValue(path: Path, value: unknown, schema: SettingSchema | undefined, problem: string, meant?: string): void {
    if (this.#options.isHidden(path) || schema?.secret !== undefined) this.add(path, problem);
    // A text in place of a section may be one of its settings, such as an address with a password.
    else if (schema?.type === 'object' && typeof value === 'string') this.add(path, `${problem}, is a text`);
    else this.add(path, `${problem}, is ${shown(value)}${meant === undefined ? '' : `; perhaps ${meant} is meant`}`);
  }
}

const MAX_SHOWN = 100;

function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isObject(value)) return 'an object';
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

export function checkSettings(schema: SettingSchema, value: unknown, path: Path, problems: Problems): void {
  if (problems.isCopy(path)) return;
  const isValid = hasRightForm(schema, value);
  if (!isValid) {
    const meant = schema.isDuration === true ? millisecondsOf(value) : undefined;
    problems.addValue(path, value, schema, `must be ${allowedText(schema)}${exampleText(schema)}`, meant);
  }
  if (Array.isArray(value) && schema.items !== undefined) {
    for (const [index, item] of value.entries()) checkSettings(schema.items, item, [...path, index], problems);
  } else if (isObject(value) && schema.properties !== undefined) {
    checkProperties(schema, value, path, problems);
  } else if (isObject(value) && schema.patternProperties !== undefined) {
    checkMap(schema, value, path, problems);
  }
  if (!isValid) return;
  schema.check?.(value as never, (problem, at = [], meant) => {
    const part = partAt(value, at);
    const where = [...path, ...at];
    // Objects and lists are shown by their type only, which the problem names already.
    if (typeof part === 'object') problems.add(where, problem);
    else problems.addValue(where, part, schemaAt(schema, at), problem, meant);
  });
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000 };

/** Reads a duration such as `10s` as a number of milliseconds. */
function millisecondsOf(value: unknown): string | undefined {
  const [, number, unit = ''] = /^(\d{1,7})\s*(ms|s|m|min|h)$/.exec(String(value)) ?? [];
  return number === undefined ? undefined : String(Number(number) * (UNIT_MS[unit] ?? 1));
}

/** Shorter durations are most likely meant as seconds. */
const SHORT_MS = 100;

/** Returns a line for each duration that is probably given in another unit. */
export function findSuspicious(
  settings: readonly { readonly path: Path; readonly schema: SettingSchema }[],
  values: unknown,
) {
  return settings.flatMap(({ path, schema }) => {
    const value = partAt(values, path);
    if (schema.isDuration !== true || typeof value !== 'number' || value === 0 || value >= SHORT_MS) return [];
    return [`${pathText(path)}: is ${value} milliseconds; write ${1_000 * value} for ${value} seconds`];
  });
}

/** Checks the keywords of JSON Schema for the value, without the parts of objects and lists. */
function hasRightForm(schema: SettingSchema, value: unknown): boolean {
  if (schema.type === 'object') return isObject(value);
  if (schema.type === 'array') {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
    return Array.isArray(value) && value.length >= minItems && value.length <= maxItems;
  }
  if (schema.enum !== undefined) return schema.enum.some((allowed) => allowed === value);
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' && isTextOf(schema, value);
    case 'integer': {
      const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
      return typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum;
    }
    case 'boolean':
      return typeof value === 'boolean';
    case undefined:
    default:
      throw new Error(`a setting of an unknown type: ${schema.type}`);
  }
}

function isTextOf(
  { pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: SettingSchema,
  text: string,
): boolean {
  const length = Array.from(text).length;
  return length >= minLength && length <= maxLength && (pattern === undefined || new RegExp(pattern, 'u').test(text));
}

function checkProperties(schema: SettingSchema, value: Record<string, unknown>, path: Path, problems: Problems): void {
  const { properties = {}, required = [] } = schema;
  const known = Object.keys(properties);
  for (const key of Object.keys(value)) {
    const inner = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const at = [...path, key];
    const advice = removedSetting(at);
    if (inner !== undefined) checkSettings(inner, value[key], at, problems);
    else if (advice !== undefined) problems.add(at, `there is no such setting any more; ${advice}`);
    else problems.add(at, `there is no such setting; ${suggestion(key, known)}`);
  }
  for (const key of required) {
    const inner = properties[key];
    if (Object.hasOwn(value, key) || inner === undefined) continue;
    problems.add([...path, key], `must be given: ${allowedText(inner)}${exampleText(inner)}`);
  }
}

function checkMap(schema: SettingSchema, value: Record<string, unknown>, path: Path, problems: Problems): void {
  for (const [key, item] of Object.entries(value)) {
    const inner = schemaAt(schema, [key]);
    if (inner === undefined) problems.add([...path, key], `the name must be ${schema.names ?? 'another'}`);
    else checkSettings(inner, item, [...path, key], problems);
  }
}

/** `did you mean port?`, or the known names if none is near. */
function suggestion(written: string, known: readonly string[]): string {
  const nearest = nearestName(written, known);
  return nearest === undefined ? `known are: ${known.join(', ')}` : `did you mean ${nearest}?`;
}

export function allowedText(schema: SettingSchema): string {
  const { minimum, maximum, minLength = 0, maxLength, minItems = 0, maxItems } = schema;
  if (schema.allowed !== undefined) return schema.allowed;
  if (schema.enum !== undefined) return `one of ${schema.enum.join(', ')}`;
  switch (schema.type) {
    case 'integer':
      return `a whole number${schema.isDuration === true ? ' of milliseconds' : ''} from ${minimum} to ${maximum}`;
    case 'boolean':
      return 'true or false';
    case 'string':
      if (maxLength !== undefined) return `a text of ${minLength} to ${maxLength} characters`;
      return minLength > 0 ? 'a text that is not empty' : 'a text';
    case 'array': {
      const items = schema.items?.allowed ?? (schema.items?.enum && `one of ${schema.items.enum.join(', ')}`);
      return `a list of ${minItems} to ${maxItems}${items === undefined ? '' : `, each ${items}`}`;
    }
    case undefined:
    default:
      return 'an object';
  }
}

/** `, such as …` for values whose form words alone do not show. */
function exampleText({ type, allowed, pattern, examples }: SettingSchema): string {
  const example = examples?.[0];
  if (example === undefined) return '';
  const hasShape = type === 'object' || type === 'array' || allowed !== undefined || pattern !== undefined;
  return hasShape ? `, such as ${JSON.stringify(example)}` : '';
}
