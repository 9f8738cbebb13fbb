import { nearestName } from '../../lib/encoding/nearest-name.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { withDefaults } from '../schema/defaults.ts';
import { removedVariable } from '../schema/removed-settings.ts';
import { SETTINGS, type Settings } from '../schema/schema.ts';
import { isObject, type Path, partAt, pathText } from '../schema/setting.ts';
import type { Config } from '../settings.ts';
import { expandTexts } from './expand-texts.ts';
import { explainForeignFile, renamedVariable } from './foreign-formats.ts';
import { parseSettings } from './parse-settings.ts';
import { ConfigError, checkSettings, Problems } from './problems.ts';
import { readJson } from './read-json.ts';
import { readTraceVariables } from './trace-variables.ts';
import { isWithin, PREFIX, parseVariable, settingOfVariable, settingsOf, variableName, withPart } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the command line sets, as it was written. */
export interface CommandLineSettings {
  readonly config?: string;
  readonly host?: string;
  readonly port?: string;
  readonly logLevel?: string;
  /** The size of the embedded network, whatever its name. */
  readonly validators?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The whole configuration as a file has it, with `${NAME}` as it was written. Its secrets are not masked. */
  readonly written: Settings;
  /** Where the value of a setting comes from, in words. */
  readonly sourceOf: (path: Path) => string;
}

/** The variable that names the file. */
const FILE_VARIABLE = `${PREFIX}CONFIG`;

/** What the service runs on where nobody says anything else. */
const EMBEDDED_NETWORKS = { local: { embedded: { validators: 20 }, aliases: ['mainnet', 'fuji', 'testnet'] } };

/**
 * The only reader of configuration: defaults, then a JSON file, then variables of the environment, then the command line, each over
 * the one before. What comes out was checked whole, and is frozen.
 *
 * @throws {ConfigError} with everything that is wrong
 */
export function loadConfig(
  commandLine: CommandLineSettings = {},
  environment: Environment = process.env,
): LoadedConfig {
  const path = commandLine.config ?? (environment[FILE_VARIABLE] || undefined);
  return path === undefined
    ? parseConfig(undefined, commandLine, environment)
    : parseConfig(readJson(path), commandLine, environment, path);
}

/**
 * As {@link loadConfig}, of a file that was read already; undefined is no file.
 *
 * @throws {ConfigError} with everything that is wrong
 */
export function parseConfig(
  json: unknown,
  commandLine: CommandLineSettings = {},
  environment: Environment = process.env,
  file = 'the file',
): LoadedConfig {
  if (json !== undefined && !isObject(json)) throw new ConfigError(['the configuration must be a JSON object']);
  const foreign = explainForeignFile(json);
  if (foreign !== undefined) throw new ConfigError(foreign.lines, { heading: foreign.heading });

  const expanded = expandTexts(json, environment);
  const fromEnvironment = readEnvironment(expanded.value, environment, expanded.variables);
  const { overlays, base, problem } = withCommandLine(fromEnvironment.overlays, expanded.value, commandLine);
  const written = withDefaults(overlay(base ?? json, overlays)).settings;
  const { settings, derived } = withDefaults(overlay(base ?? expanded.value, overlays));
  const sourceOf = (path: Path): string | undefined =>
    overlays.findLast(
      (one) => isWithin(path, one.path) || (isWithin(one.path, path) && partAt(json, path) === undefined),
    )?.source;

  const problems = new Problems({
    sourceOf,
    // A text that a variable of the environment was put into.
    isHidden: (path) => {
      const value = partAt(settings, path);
      return typeof value === 'string' && value !== partAt(written, path);
    },
    isCopy: (path) => derived.has(pathText(path)),
  });
  for (const { path, variable } of expanded.missing) {
    problems.add(path, `the environment variable ${variable}, which the text names, is not set`);
  }
  for (const line of [...fromEnvironment.unread, ...(problem === undefined ? [] : [problem])]) problems.addLine(line);
  checkSettings(SETTINGS, settings, [], problems);
  if (problems.lines.length > 0) throw new ConfigError(problems.lines);

  return {
    config: deepFreeze({ ...parseSettings(settings as Settings), traces: readTraceVariables(environment) }),
    written: written as Settings,
    sourceOf: (path) => sourceOf(path) ?? (partAt(json, path) === undefined ? 'default' : file),
  };
}

/** A value over those of the file. */
interface Overlay {
  readonly path: readonly string[];
  readonly value: unknown;
  /** The variable or option that gives it, in words. */
  readonly source: string;
}

interface EnvironmentSettings {
  readonly overlays: readonly Overlay[];
  /** A line for each variable that has our prefix and sets nothing. */
  readonly unread: readonly string[];
}

/** @param named the variables that the texts of the file name: they are read, whatever they are called */
function readEnvironment(json: unknown, environment: Environment, named: ReadonlySet<string>): EnvironmentSettings {
  const overlays: Overlay[] = [];
  const unread: string[] = [];
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || variable === FILE_VARIABLE || text === undefined) continue;
    const setting = settingOfVariable(SETTINGS, variable);
    // An empty variable is one that is not set, as far as shells and container files can tell.
    if (setting !== undefined && text !== '') {
      overlays.push({
        path: setting.path,
        value: parseVariable(text, setting.schema),
        source: `environment variable ${variable}`,
      });
    } else if (setting === undefined && !named.has(variable) && !isOfKubernetes(variable, environment)) {
      unread.push(`${variable}: no setting has this variable; ${meantVariable(variable, json)}`);
    }
  }
  // A variable for part of an endpoint goes over one for the whole endpoint.
  overlays.sort((a, b) => a.path.length - b.path.length);
  return { overlays, unread };
}

/**
 * Kubernetes tells each container of the services in its namespace by variables that begin with a service's name: where one is called
 * `signature-aggregator`, all of these have our prefix. Of each there is the host, by which services are known here.
 */
function isOfKubernetes(variable: string, environment: Environment): boolean {
  return Object.keys(environment).some((host) => {
    const [, service] = /^(.+)_SERVICE_HOST$/.exec(host) ?? [];
    if (service === undefined || !variable.startsWith(`${service}_`)) return false;
    return /^(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_.+)?)$/.test(variable.slice(service.length + 1));
  });
}

function meantVariable(variable: string, json: unknown): string {
  const removed = removedVariable(variable);
  if (removed !== undefined) return `it is gone: ${removed}`;
  const renamed = renamedVariable(variable);
  if (renamed !== undefined) return renamed;
  const networks = new Set([...Object.keys(networksOf(json)), ...PUBLIC_NETWORKS.map(({ name }) => name), 'local']);
  const [, network] = /^NETWORKS__([A-Z][A-Z0-9_]*?)__/.exec(variable.slice(PREFIX.length)) ?? [];
  if (network !== undefined) networks.add(network.toLowerCase().replaceAll('_', '-'));
  const known = settingsOf(SETTINGS, [...networks]).map(({ path }) => variableName(path).slice(PREFIX.length));
  // Without the prefix that all of them share, which would make any two names look alike.
  const nearest = nearestName(variable.slice(PREFIX.length), [...known, 'CONFIG']);
  return nearest === undefined ? 'config/README.md says how they are named' : `did you mean ${PREFIX}${nearest}?`;
}

interface Layers {
  readonly overlays: readonly Overlay[];
  /** What the service runs on without a file; undefined with one. */
  readonly base: unknown;
  /** What is wrong with the options together. */
  readonly problem: string | undefined;
}

function withCommandLine(environment: readonly Overlay[], json: unknown, options: CommandLineSettings): Layers {
  const { host, port, logLevel, validators } = options;
  const overlays = [...environment];
  const add = (path: readonly string[], text: string | undefined, option: string): void => {
    if (text === undefined) return;
    const schema = settingOfVariable(SETTINGS, variableName(path))?.schema ?? {};
    overlays.push({ path, value: parseVariable(text, schema), source: `command line, ${option}` });
  };
  add(['server', 'host'], host, '--host');
  add(['server', 'port'], port, '--port');
  add(['log', 'level'], logLevel, '--log-level');
  // Whoever names the API of a network by a variable alone means that network, and no file is needed.
  const namesNetwork = overlays.some(({ path }) => path[0] === 'networks' && path[2] === 'pChainApi');
  const base = json === undefined ? (namesNetwork ? {} : { networks: EMBEDDED_NETWORKS }) : undefined;
  const networks = networksOf(overlay(base ?? json, overlays));
  const embedded = Object.keys(networks).find((name) => partAt(networks, [name, 'embedded']) !== undefined);
  if (embedded !== undefined) add(['networks', embedded, 'embedded', 'validators'], validators, '--validators');
  const isUseless = validators !== undefined && embedded === undefined;
  const problem = '--validators: is the size of the embedded network, and the configuration has none';
  return { overlays, base, problem: isUseless ? problem : undefined };
}

function overlay(settings: unknown, overlays: readonly Overlay[]): unknown {
  return overlays.reduce<unknown>((over, { path, value }) => withPart(over, path, value) ?? over, settings);
}

function networksOf(settings: unknown): Record<string, unknown> {
  const networks = partAt(settings, ['networks']);
  return isObject(networks) ? networks : {};
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) deepFreeze(item);
    Object.freeze(value);
  }
  return value;
}
