import type { ErrorObject } from 'ajv';
import { isObject } from '../../lib/encoding/is-object.ts';
import { nearestName } from '../../lib/encoding/nearest-name.ts';
import { MAX_PROBLEMS } from '../schema/config-error.ts';
import { isDevnet } from '../schema/network-schema.ts';
import { SETTINGS } from '../schema/schema.ts';
import { networksOf, type Path, partAt, pathText, type SettingSchema, schemaAt } from '../schema/setting.ts';
import type { FailedCheck } from './validate.ts';

export interface ProblemsOptions {
  /** Returns the variable or option that a value comes from; undefined for the file and the defaults. */
  readonly sourceOf: (path: Path) => string | undefined;
  /** Whether a text must not be shown, independent of its setting. */
  readonly isHidden: (path: Path, text: string) => boolean;
}

/** Collects problems, at most one for each path: later ones at the same path follow from the first. */
export class Problems {
  readonly #lines = new Map<string, () => string>();
  readonly #options: ProblemsOptions;

  constructor(options: ProblemsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#lines.size;
  }

  /** Returns the first of them; the others are not put into words. */
  get lines(): string[] {
    return [...this.#lines.values()].slice(0, MAX_PROBLEMS).map((line) => line());
  }

  add(path: Path, problem: string | (() => string)): void {
    const at = path.length === 0 ? 'the configuration' : pathText(path);
    this.#addLine(at, () => {
      const source = this.#options.sourceOf(path);
      return `${at}${source === undefined ? '' : ` (${source})`}: ${typeof problem === 'string' ? problem : problem()}`;
    });
  }

  /** Adds a problem without a path, such as a variable of no setting. */
  addLine(line: string): void {
    this.#addLine(line, () => line);
  }

  /** Adds what Ajv found in these settings. */
  addErrors(errors: readonly ErrorObject[], settings: unknown): void {
    for (const error of errors) this.#addError(error, settings);
  }

  #addLine(key: string, line: () => string): void {
    if (!this.#lines.has(key)) this.#lines.set(key, line);
  }

  #addError({ keyword, instancePath, params }: ErrorObject, settings: unknown): void {
    const path = pathOfPointer(instancePath);
    switch (keyword) {
      case 'additionalProperties': {
        const key = params['additionalProperty'] as string;
        this.add([...path, key], () => describeUnknown(schemaAt(SETTINGS, path) ?? {}, key));
        break;
      }
      case 'required': {
        const at = [...path, params['missingProperty'] as string];
        const schema = schemaAt(SETTINGS, at) ?? {};
        // A derived default is added to valid settings.
        if (schema.derived === undefined) this.add(at, `must be given: ${allowedText(schema)}${exampleText(schema)}`);
        break;
      }
      case 'check': {
        const { problem, at, meant } = params as FailedCheck;
        const value = partAt(settings, [...path, ...at]);
        // Objects and lists are shown by their type only, which the problem names already.
        if (typeof value === 'object') this.add([...path, ...at], problem);
        else this.#addValue([...path, ...at], value, problem, meant);
        break;
      }
      default: {
        const schema = schemaAt(SETTINGS, path) ?? {};
        const value = partAt(settings, path);
        const meant = schema.isDuration === true ? millisecondsOf(value) : undefined;
        this.#addValue(path, value, `must be ${allowedText(schema)}${exampleText(schema)}`, meant);
      }
    }
  }

  /** Adds a problem with a value; the value is shown unless it may be a secret. */
  #addValue(path: Path, value: unknown, problem: string, meant?: string): void {
    const schema = schemaAt(SETTINGS, path);
    const isHidden = typeof value === 'string' && this.#options.isHidden(path, value);
    if (isHidden || schema?.secret !== undefined) this.add(path, problem);
    // A text in place of a section may be one of its settings, such as an address with a password.
    else if (schema?.type === 'object' && typeof value === 'string') this.add(path, `${problem}, is a text`);
    else this.add(path, `${problem}, is ${shown(value)}${meant === undefined ? '' : `; perhaps ${meant} is meant`}`);
  }
}

/** Returns the path of a JSON pointer (RFC 6901) into settings, some of which may have their parsed values already. */
function pathOfPointer(pointer: string): Path {
  return pointer
    .split('/')
    .slice(1)
    .reduce<Path>((path, escaped) => {
      const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
      const isIndex = /^\d+$/.test(key) && schemaAt(SETTINGS, path)?.items !== undefined;
      return [...path, isIndex ? Number(key) : key];
    }, []);
}

const MAX_SHOWN = 100;

function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isObject(value)) return 'an object';
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
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

/** Returns a line for each limit of a key that has no effect, because nothing is limited. @param given without defaults */
export function findUnusedLimits(given: unknown, settings: unknown): string[] {
  if (partAt(settings, ['access', 'unitsPerMinute']) !== 0) return [];
  const keys = partAt(given, ['access', 'apiKeys']);
  return (Array.isArray(keys) ? keys : []).flatMap((key, index) => {
    const path = ['access', 'apiKeys', index, 'unitsPerMinute'];
    if (partAt(key, ['unitsPerMinute']) === undefined) return [];
    return [`${pathText(path)}: has no effect, because access.unitsPerMinute is 0, which disables all limits`];
  });
}

/** Returns a line if a restart loses messages of watched chains. A devnet begins anew anyway. @param settings with defaults */
export function findUnkeptFeeds(settings: unknown): string[] {
  if (partAt(settings, ['store', 'path']) !== undefined) return [];
  const watching = Object.entries(networksOf(settings)).filter(([, network]) => {
    const chains = partAt(network, ['feed', 'chains']);
    return Array.isArray(chains) && chains.length > 0 && !isDevnet(network);
  });
  if (watching.length === 0) return [];
  const names = watching.map(([name]) => name).join(' and ');
  return [
    `store.path: is not set, so a restart loses the stored messages of ${names} and those of blocks meanwhile, and cursors expire; a chain with ` +
      'fromBlock is read again from there',
  ];
}

/** Returns a line for each trusted proxy that is every address. */
export function findOpenProxies(settings: unknown): string[] {
  const blocks = partAt(settings, ['server', 'trustedProxies']);
  return (Array.isArray(blocks) ? blocks : []).flatMap((block: unknown, index) => {
    if (typeof block !== 'string' || !block.endsWith('/0')) return [];
    const path = pathText(['server', 'trustedProxies', index]);
    return [
      `${path}: ${block} is every address: each client then chooses its own by X-Forwarded-For, and with it its limits; name the proxies alone`,
    ];
  });
}

function describeUnknown({ properties, names }: SettingSchema, key: string): string {
  if (properties === undefined) return `the name must be ${names ?? 'another'}`;
  const known = Object.keys(properties);
  const nearest = nearestName(key, known);
  return `there is no such setting; ${nearest === undefined ? `known are: ${known.join(', ')}` : `did you mean ${nearest}?`}`;
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
