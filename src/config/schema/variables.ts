import { findExcess } from '../../lib/encoding/json-source.ts';
import { attempt } from '../../lib/encoding/parse-error.ts';
import type { Path, SettingSchema } from './setting.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export const PREFIX = 'SIGNATURE_AGGREGATOR_';
const SEPARATOR = '__';
/** Of lists and objects; a configuration has seven. */
export const MAX_LEVELS = 64;

/** Returns the variable of a setting: SIGNATURE_AGGREGATOR_NETWORKS__FUJI__TRACKED_SUBNET_IDS. */
export function variableName(path: readonly string[]): string {
  return PREFIX + path.map(upperSnake).join(SEPARATOR);
}

function upperSnake(name: string): string {
  return name
    .replaceAll('-', '_')
    .replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase();
}

interface Named {
  readonly path: readonly string[];
  readonly schema: SettingSchema;
}

export function settingOfVariable(root: SettingSchema, variable: string): Named | undefined {
  const network = networkOfVariable(variable);
  const settings = settingsOf(root, network === undefined ? [] : [network]);
  return settings.find(({ path }) => variableName(path) === variable);
}

/** The only map with variables is that of the networks: names of headers and parameters cannot be recovered from upper case. */
export function networkOfVariable(variable: string): string | undefined {
  const [, network] = /^NETWORKS__([A-Z][A-Z0-9_]*?)__/.exec(variable.slice(PREFIX.length)) ?? [];
  return network?.toLowerCase().replaceAll('_', '-');
}

/** Lists every setting that can be set separately, in the order of the schema; those of a network once for each of the names. */
export function settingsOf(root: SettingSchema, networks: readonly string[]): Named[] {
  const found: Named[] = [];
  const visit = (schema: SettingSchema, path: readonly string[]): void => {
    if (schema.isSection !== true && path.length > 0) found.push({ path, schema });
    for (const [name, inner] of Object.entries(schema.properties ?? {})) visit(inner, [...path, name]);
    const [network] = Object.values(schema.patternProperties ?? {});
    if (network?.isSection === true) for (const name of networks) visit(network, [...path, name]);
  };
  visit(root, []);
  return found;
}

/** Reads numbers, booleans, and lists and objects in JSON. Any other text stays as it is, for the checks that follow. */
export function parseVariable(text: string, schema: SettingSchema): unknown {
  switch (schema.type) {
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
    case 'boolean':
      return { true: true, false: false }[text] ?? text;
    case 'array':
    case 'object': {
      if (findExcess(text, { levels: MAX_LEVELS }) !== undefined) return text;
      const json: unknown = attempt(() => JSON.parse(text), SyntaxError);
      return json instanceof SyntaxError ? text : json;
    }
    case undefined:
    default:
      return text;
  }
}

/** Tests whether a path equals the other one, or lies below it. */
export function isWithin(path: Path, other: Path): boolean {
  return other.every((key, index) => path[index] === key);
}
