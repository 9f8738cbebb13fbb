import { networkInterfaces } from 'node:os';
import { isObject } from '../../lib/encoding/is-object.ts';
import { PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { ConfigError } from '../schema/config-error.ts';
import { partAt, withPart } from '../schema/setting.ts';
import type { Environment } from '../schema/variables.ts';

/**
 * The configuration file of the Go aggregator (icm-services, `signature-aggregator/config`), read like its library viper v1.21 does: keys
 * in any case, each key also from the environment, `null` counts as absent, and values of other types are converted like mapstructure
 * v2.4 does with `WeaklyTypedInput`. Values that it would cut off, such as 1.5 or the port 70000, are errors.
 */
export type GoFile = Readonly<Record<string, unknown>>;

export interface ConvertedGoFile {
  readonly networkName: string;
  readonly settings: object;
  /** One line for each given key with another meaning or none, and for each further setting. */
  readonly remarks: readonly string[];
}

interface Key {
  readonly kind: Kind;
  /** The setting for the value; `NAME` is the network's name. */
  readonly setting?: string;
  /** The value of the setting if the file has none. */
  readonly fallback?: unknown;
  readonly convert?: (value: never) => unknown;
}

type Kind = 'text' | 'number' | 'boolean' | 'texts' | 'map' | 'endpoint' | 'peers';

/** Levels of avalanchego `utils/logging/level.go`; here is one level less between info and debug. */
const LOG_LEVELS: Readonly<Record<string, string>> = {
  verbo: 'trace',
  debug: 'debug',
  trace: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'fatal',
  off: 'silent',
};
/** A quorum of the primary network has some hundred validators, that of an L1 a few. */
const SIGNATURES_OF_MESSAGE = 100;
/** 300 MB, see `aggregation.signatureCacheSize`. The default of the Go service is a million messages. */
const MAX_CACHED = 1_000_000;
const DEFAULT_API_PORT = 8_080;
const DEFAULT_METRICS_PORT = 8_081;

const ENDPOINT_KEYS: Readonly<Record<string, Key>> = {
  'base-url': { kind: 'text', setting: 'baseUrl' },
  'query-parameters': { kind: 'map', setting: 'queryParameters' },
  'http-headers': { kind: 'map', setting: 'httpHeaders' },
};
const PEER_KEYS: Readonly<Record<string, Key>> = {
  id: { kind: 'text', setting: 'nodeId' },
  ip: { kind: 'text', setting: 'address' },
};

const NAME = 'NAME';
const ENDPOINT = { kind: 'endpoint', convert: (endpoint: object) => [renamed(endpoint, ENDPOINT_KEYS)] } as const;
const PATH = { kind: 'text', convert: bracedVariables } as const;
const KEYS: Readonly<Record<string, Key>> = {
  'log-level': {
    kind: 'text',
    setting: 'log.level',
    convert: (level: string) => LOG_LEVELS[level.toLowerCase()],
  },
  'p-chain-api': { ...ENDPOINT, setting: `networks.${NAME}.pChainApi` },
  'info-api': { ...ENDPOINT, setting: `networks.${NAME}.infoApi` },
  'api-port': { kind: 'number', setting: `networks.${NAME}.goApi.apiPort`, fallback: DEFAULT_API_PORT },
  'metrics-port': { kind: 'number', setting: `networks.${NAME}.goApi.metricsPort`, fallback: DEFAULT_METRICS_PORT },
  'signature-cache-size': {
    kind: 'number',
    setting: 'aggregation.signatureCacheSize',
    // The Go service's cache of size 0 holds one message, too.
    convert: (messages: number) => Math.min(MAX_CACHED, SIGNATURES_OF_MESSAGE * Math.max(1, messages)),
  },
  'allow-private-ips': { kind: 'boolean', setting: `networks.${NAME}.allowPrivateAddresses`, fallback: false },
  'tracked-subnet-ids': {
    kind: 'texts',
    setting: `networks.${NAME}.trackedSubnetIds`,
    fallback: [],
    // The Go service removes the primary network, which is always tracked.
    convert: (ids: readonly string[]) => ids.filter((id) => id !== PRIMARY_NETWORK_ID),
  },
  'manually-tracked-peers': {
    kind: 'peers',
    setting: `networks.${NAME}.manuallyTrackedPeers`,
    fallback: [],
    convert: (peers: readonly object[]) => peers.map((peer) => renamed(peer, PEER_KEYS)),
  },
  'tls-cert-path': { ...PATH, setting: 'identity.certificatePath' },
  'tls-key-path': { ...PATH, setting: 'identity.privateKeyPath' },
  'max-p-chain-lookback': { kind: 'number' },
  'validator-refresh-period-seconds': {
    kind: 'number',
    setting: `networks.${NAME}.validatorRefreshMs`,
    convert: (seconds: number) => seconds * 1_000,
  },
};

export function isGoFile(json: unknown): boolean {
  return isObject(json) && Object.keys(json).some((key) => Object.hasOwn(KEYS, key.toLowerCase()));
}

/** Returns `CONFIG_FILE`, else the flag, in the order of the Go service; undefined if neither is given. */
export function goFilePath(flag: string | undefined, environment: Environment = process.env): string | undefined {
  return environment['CONFIG_FILE'] || flag || undefined;
}

/**
 * @param environment variables that replace keys: `API_PORT`, `P_CHAIN_API.BASE_URL`
 * @throws {ConfigError} with every key that is unknown, missing or of the wrong type
 */
export function parseGoFile(json: unknown, environment: Environment = process.env): GoFile {
  if (!isObject(json)) throw new ConfigError(['the configuration must be a JSON object']);
  const problems: string[] = [];
  const file = readKeys('', json, KEYS, environment, problems);
  for (const key of ['p-chain-api', 'info-api']) {
    if (partAt(file, [key, 'base-url']) === undefined) {
      problems.push(`${key}: must be given, such as {"base-url": "https://api.avax.network"}`);
    }
  }
  const level = file['log-level'];
  if (typeof level === 'string' && !Object.hasOwn(LOG_LEVELS, level.toLowerCase())) {
    problems.push(`log-level: must be one of ${Object.keys(LOG_LEVELS).join(', ')}, in any case, is "${level}"`);
  }
  if (Object.hasOwn(file, 'tls-cert-path') !== Object.hasOwn(file, 'tls-key-path')) {
    problems.push('tls-cert-path, tls-key-path: must be given together, as they are one identity');
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return file;
}

export function endpointOf(
  file: GoFile,
  key: 'p-chain-api' | 'info-api',
): Record<string, unknown> & { baseUrl: string } {
  return renamed(file[key] as object, ENDPOINT_KEYS) as Record<string, unknown> & { baseUrl: string };
}

export function apiPortOf(file: GoFile): number {
  return (file['api-port'] as number | undefined) ?? DEFAULT_API_PORT;
}

/** @param networkID of the info API */
export function convertGoFile(file: GoFile, networkID: number): ConvertedGoFile {
  const networkName = nameOf(networkID);
  const isPublic = PUBLIC_NETWORKS.some(({ name }) => name === networkName);
  const level = file['log-level'] as string | undefined;
  let settings: unknown = { server: { host: anyAddress(), ownApi: false }, access: { unitsPerMinute: 0 } };
  for (const [key, { setting, fallback, convert = (value: unknown) => value }] of Object.entries(KEYS)) {
    const value = file[key] ?? fallback;
    if (setting === undefined || value === undefined) continue;
    settings = withPart(settings, setting.replace(NAME, networkName).split('.'), convert(value as never));
  }
  const remarks = [
    `networks.${networkName}: the name of network ID ${networkID}, which the info API reports${isPublic ? '' : '; any other name is possible'}`,
    'server.ownApi: false, so that only the two ports of the Go service are used; with true and a free server.port the service has its' +
      ' own API, its console and all metrics, too',
    'access.unitsPerMinute: 0, as the Go service limits no client; set a limit if clients are not trusted',
    ...('max-p-chain-lookback' in file
      ? [
          'max-p-chain-lookback: has no counterpart; the Go service rejects older heights, this service accepts each height that the ' +
            'P-Chain API still serves',
        ]
      : []),
    ...('signature-cache-size' in file
      ? [
          `signature-cache-size: a number of messages; aggregation.signatureCacheSize counts validators' signatures, and has ` +
            `${SIGNATURES_OF_MESSAGE} for each, at most ${MAX_CACHED}, which take 300 MB`,
        ]
      : []),
    ...(level?.toLowerCase() === 'trace' ? ['log-level: trace is debug here, the next level that logs more'] : []),
  ];
  return { networkName, settings: settings as object, remarks };
}

/** Replaces settings in the text of an error by the keys of the Go file. */
export function inGoTerms(text: string, networkName: string): string {
  let changed = text;
  for (const [key, { kind, setting = '' }] of Object.entries(KEYS)) {
    if (setting === '') continue;
    const inner = kind === 'endpoint' ? ENDPOINT_KEYS : kind === 'peers' ? PEER_KEYS : {};
    // The only endpoint of a list is an object in the Go file.
    const ours = setting.replace(NAME, networkName) + (kind === 'endpoint' ? '[0]' : '');
    changed = changed.replaceAll(
      new RegExp(`${RegExp.escape(ours)}(\\[\\d+\\])?(?:\\.(\\w+))?`, 'g'),
      (_, index = '', name) => {
        const [innerKey] = Object.entries(inner).find(([, { setting: inside }]) => inside === name) ?? [name];
        return `${key}${index}${innerKey === undefined ? '' : `.${innerKey}`}`;
      },
    );
  }
  return changed;
}

/** Names networks like avalanchego's `utils/constants/network_ids.go`. */
function nameOf(networkID: number): string {
  const known = PUBLIC_NETWORKS.find((network) => network.networkID === networkID);
  return known?.name ?? (networkID === LOCAL_NETWORK_ID ? 'local' : `network-${networkID}`);
}

const LOCAL_NETWORK_ID = 12_345;

/** Returns the address for all interfaces: `::` covers IPv4 too, but fails on machines without IPv6. */
function anyAddress(): string {
  const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family }) => family === 'IPv6'),
  );
  return hasIPv6 ? '::' : '0.0.0.0';
}

/** The Go service expands environment variables in these two paths, also without braces. */
function bracedVariables(path: string): string {
  return path.replaceAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g, '${$1}');
}

function renamed(value: object, keys: Readonly<Record<string, Key>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [keys[key]?.setting ?? key, part]));
}

/** Not for maps of headers and parameters, whose names stay unchanged. */
function lowerCaseKeys(object: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key.toLowerCase(), value]));
}

/** @param environment variables that replace keys, by the path of the key in upper case with `_` */
function readKeys(
  at: string,
  object: object,
  keys: Readonly<Record<string, Key>>,
  environment: Environment,
  problems: string[],
): Record<string, unknown> {
  const given = lowerCaseKeys(object);
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(keys, key));
  if (unknown.length > 0) {
    problems.push(`'${at}' has invalid keys: ${unknown.join(', ')}; known are: ${Object.keys(keys).join(', ')}`);
  }
  return Object.fromEntries(
    Object.entries(keys).flatMap(([key, { kind }]) => {
      const path = at === '' ? key : `${at}.${key}`;
      // Viper ignores empty variables.
      const variable = environment[path.replaceAll('-', '_').toUpperCase()] || undefined;
      // All of an endpoint may be in variables.
      const value = variable ?? given[key] ?? (kind === 'endpoint' ? {} : undefined);
      if (value === undefined) return [];
      const read = readValue(path, value, kind, environment, problems);
      if (read !== undefined) return [[key, read]];
      problems.push(`${path}: must be ${WORDS[kind]}`);
      return [];
    }),
  );
}

const WORDS: Readonly<Record<Kind, string>> = {
  text: 'a text',
  number: 'a whole number',
  boolean: 'true or false',
  texts: 'a list of texts',
  map: 'an object of texts',
  endpoint: 'an object {base-url, query-parameters, http-headers}',
  peers: 'a list of objects {id, ip}',
};

/** Returns undefined for a value of another kind. */
function readValue(at: string, value: unknown, kind: Kind, environment: Environment, problems: string[]): unknown {
  switch (kind) {
    case 'text':
      return asText(value);
    case 'number':
      return asInteger(value);
    case 'boolean':
      return asBoolean(value);
    case 'texts': {
      const texts = asList(value).map(asText);
      return texts.includes(undefined) ? undefined : texts;
    }
    case 'map': {
      if (!isObject(value)) return isEmptyList(value) ? {} : undefined;
      const given = Object.entries(value)
        .filter(([, text]) => text !== null)
        .map(([name, text]) => [name, asText(text)] as const);
      return given.some(([, text]) => text === undefined) ? undefined : Object.fromEntries(given);
    }
    case 'endpoint':
      return isObject(value) ? readKeys(at, value, ENDPOINT_KEYS, environment, problems) : undefined;
    case 'peers': {
      const peers = asList(value);
      if (!peers.every(isObject)) return undefined;
      return peers.map((peer, index) => readKeys(`${at}[${index}]`, peer, PEER_KEYS, {}, problems));
    }
  }
}

/** A text; a number in digits without an exponent; 1 or 0 for a boolean. */
function asText(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number') return String(value).includes('e') ? undefined : String(value);
  return typeof value === 'string' ? value : undefined;
}

/** A whole number, also as a text by the rules of Go's literals; an empty text is 0, a boolean 1 or 0. */
function asInteger(value: unknown): number | undefined {
  const number = typeof value === 'string' ? integerOf(value) : Number(typeof value === 'object' ? undefined : value);
  // Not -0.
  return Number.isSafeInteger(number) ? number + 0 : undefined;
}

/** Reads what Go's `strconv.ParseInt` reads with base 0: a prefix or a leading 0 gives the base, and `_` may be between digits. */
function integerOf(text: string): number {
  const [, sign, digits = ''] = /^([+-]?)(0[xbo](?:_?[\da-f])+|\d(?:_?\d)*)$/i.exec(text === '' ? '0' : text) ?? [];
  const number = digits === '' ? Number.NaN : Number(digits.replaceAll('_', '').replace(/^0(?=\d)/, '0o'));
  return sign === '-' ? -number : number;
}

/** A boolean, also as one of the texts of Go's `strconv.ParseBool`; an empty text is false, a number true unless it is 0. */
function asBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  if (typeof value !== 'string') return undefined;
  if (/^(1|t|T|true|True|TRUE)$/.test(value)) return true;
  return /^(|0|f|F|false|False|FALSE)$/.test(value) ? false : undefined;
}

/** A list; the parts of a text between commas; no items for an empty text or object; else the value alone. */
function asList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return value === '' ? [] : value.split(',');
  return isObject(value) && Object.keys(value).length === 0 ? [] : [value];
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
