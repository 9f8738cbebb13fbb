import { isObject } from '../../lib/encoding/is-object.ts';
import { nearestName } from '../../lib/encoding/nearest-name.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { isGoFile } from '../go-aggregator/go-file.ts';
import { ConfigError } from '../schema/config-error.ts';
import { addDerivedDefaults } from '../schema/defaults.ts';
import { SETTINGS, type Settings } from '../schema/schema.ts';
import { mapTexts, networksOf, type Path, partAt, schemaAt, withPart } from '../schema/setting.ts';
import {
  type Environment,
  isWithin,
  networkOfVariable,
  PREFIX,
  parseVariable,
  settingOfVariable,
  settingsOf,
  variableName,
} from '../schema/variables.ts';
import { type Config, toConfig } from '../settings.ts';
import { findSuspicious, Problems } from './problems.ts';
import { findProxyProblem } from './proxy-variables.ts';
import { readJson } from './read-json.ts';
import { readTraceVariables } from './trace-variables.ts';
import { validate } from './validate.ts';

export interface CommandLineSettings {
  readonly config?: string;
  readonly host?: string;
  readonly port?: string;
  readonly logLevel?: string;
  /** The size of the devnet, whatever its name. */
  readonly validators?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The configuration in the form of a file, with all defaults, to compare it with another one. */
  readonly settings: Settings;
  /** What the file and the variables give: without defaults, with `${NAME}` unexpanded, and with secrets. */
  readonly given: unknown;
  /** A line for each value that is allowed, but probably wrong. */
  readonly warnings: readonly string[];
  readonly sourceOf: (path: Path) => string;
}

const FILE_VARIABLE = `${PREFIX}CONFIG`;

/** The networks of a service without any configuration. */
const EMBEDDED_NETWORKS = { local: { embedded: { validators: 20 }, aliases: ['mainnet', 'fuji', 'testnet'] } };

/**
 * Reads the configuration: command line over environment variables over a JSON file over defaults. The result is checked as a whole.
 *
 * @throws {ConfigError} with all problems
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
 * Does what {@link loadConfig} does with the JSON of a file; undefined is no file.
 *
 * @throws {ConfigError} with all problems
 */
export function parseConfig(
  json: unknown,
  commandLine: CommandLineSettings = {},
  environment: Environment = process.env,
  file = 'the file',
): LoadedConfig {
  if (json !== undefined && !isObject(json)) throw new ConfigError(['the configuration must be a JSON object']);
  if (isObject(json) && !Object.hasOwn(json, 'networks') && isGoFile(json)) {
    throw new ConfigError(
      [
        'to run it as it is: signature-aggregator --config-file FILE',
        'to print it in the form of this service: warp-signature-aggregator convert FILE',
      ],
      { heading: 'this is a file of the Go signature aggregator' },
    );
  }

  const expanded = expandTexts(json, environment);
  const fromEnvironment = readEnvironment(expanded.value, environment, expanded.variables);
  const { overlays, base, problem } = withCommandLine(fromEnvironment.overlays, expanded.value, commandLine);
  const given = overlay(base ?? json, overlays);
  // A copy, which the validator changes.
  const settings = mapTexts(overlay(base ?? expanded.value, overlays), (text) => text);
  const sourceOf = (path: Path): string | undefined =>
    overlays.findLast(
      (one) => isWithin(path, one.path) || (isWithin(one.path, path) && partAt(json, path) === undefined),
    )?.source;

  const problems = new Problems({
    sourceOf,
    // Texts that contain the value of a variable are hidden.
    isHidden: (path, text) => text !== partAt(given, path),
  });
  for (const { path, variable } of expanded.missing) {
    problems.add(path, `the environment variable ${variable}, which the text names, is not set`);
  }
  for (const line of [...fromEnvironment.unread, ...(problem === undefined ? [] : [problem])]) problems.addLine(line);
  const proxyProblem = findProxyProblem(environment);
  if (proxyProblem !== undefined) problems.addLine(proxyProblem);
  problems.addErrors(validate(settings), settings);
  if (problems.count > 0) throw new ConfigError(problems.lines, { count: problems.count });
  addDerivedDefaults(settings);

  return {
    config: { ...toConfig(settings as Settings), traces: readTraceVariables(environment) },
    settings: settings as Settings,
    given,
    warnings: findSuspicious(settingsOf(SETTINGS, Object.keys(networksOf(settings))), settings),
    sourceOf: (path) => sourceOf(path) ?? (partAt(json, path) === undefined ? 'default' : file),
  };
}

/**
 * Replaces `${NAME}` in all texts by the variable NAME, so that files need no secrets.
 *
 * @returns also the named variables, and those of them that are not set, with the path of the text
 */
function expandTexts(json: unknown, environment: Environment) {
  const variables = new Set<string>();
  const missing: { path: Path; variable: string }[] = [];
  const value = mapTexts(json, (text, path) =>
    text.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (reference, variable: string) => {
      variables.add(variable);
      const found = environment[variable];
      if (found === undefined) missing.push({ path, variable });
      return found ?? reference;
    }),
  );
  return { value, variables, missing };
}

interface Overlay {
  readonly path: readonly string[];
  readonly value: unknown;
  /** The variable or option with the value, in words. */
  readonly source: string;
}

/** @param named the variables that texts of the file name: they may have our prefix */
function readEnvironment(json: unknown, environment: Environment, named: ReadonlySet<string>) {
  const overlays: Overlay[] = [];
  const unread: string[] = [];
  for (const [variable, text] of Object.entries(environment)) {
    if (variable === FILE_VARIABLE || text === undefined) continue;
    if (!variable.startsWith(PREFIX)) {
      const meant = withPrefixMended(variable);
      if (meant !== undefined) unread.push(`${variable}: no setting has this variable; did you mean ${meant}?`);
      continue;
    }
    const setting = settingOfVariable(SETTINGS, variable);
    // Shells and container files do not distinguish an empty variable from one that is not set.
    if (setting !== undefined && text !== '') {
      overlays.push({
        path: setting.path,
        value: parseVariable(text, setting.schema),
        source: `environment variable ${variable}`,
      });
    } else if (setting === undefined && !named.has(variable) && !isOfKubernetes(variable, environment)) {
      unread.push(`${variable}: no setting has this variable; ${adviceOn(variable, json)}`);
    }
  }
  // A variable for part of an endpoint overrides the one for the whole endpoint.
  overlays.sort((a, b) => a.path.length - b.path.length);
  return { overlays, unread };
}

/** Returns the variable of a setting that differs by a misspelt prefix only; undefined if there is none. */
function withPrefixMended(variable: string): string | undefined {
  const parts = variable.split('_');
  for (const words of [1, 2, 3]) {
    const prefix = `${parts.slice(0, words).join('_')}_`;
    if (nearestName(prefix, [PREFIX]) === undefined) continue;
    const meant = PREFIX + parts.slice(words).join('_').replace(/^_/, '').toUpperCase();
    if (meant === FILE_VARIABLE || settingOfVariable(SETTINGS, meant) !== undefined) return meant;
  }
  return undefined;
}

/**
 * Kubernetes sets variables in each container for the services of its namespace, prefixed by the service's name: those of a service
 * called `signature-aggregator` have our prefix. Each service has a `_SERVICE_HOST`.
 */
function isOfKubernetes(variable: string, environment: Environment): boolean {
  return Object.keys(environment).some((host) => {
    const [, service] = /^(.+)_SERVICE_HOST$/.exec(host) ?? [];
    if (service === undefined || !variable.startsWith(`${service}_`)) return false;
    return /^(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_.+)?)$/.test(variable.slice(service.length + 1));
  });
}

function adviceOn(variable: string, json: unknown): string {
  const network = networkOfVariable(variable);
  const networks = [...Object.keys(networksOf(json)), ...PUBLIC_NETWORKS.map(({ name }) => name), 'local'];
  // Compared without the common prefix, which would make any two names similar.
  const prefix = network === undefined ? PREFIX : variableName(['networks', network, '']);
  const known = settingsOf(SETTINGS, network === undefined ? [...new Set(networks)] : [network])
    .map(({ path }) => variableName(path))
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
  const nearest = nearestName(variable.slice(prefix.length), network === undefined ? [...known, 'CONFIG'] : known);
  return nearest === undefined ? 'config/README.md says how they are named' : `did you mean ${prefix}${nearest}?`;
}

/** @returns also `base`, the configuration without a file; undefined if there is one */
function withCommandLine(environment: readonly Overlay[], json: unknown, options: CommandLineSettings) {
  const { host, port, logLevel, validators } = options;
  const overlays = [...environment];
  const add = (path: readonly string[], text: string | undefined, option: string): void => {
    if (text === undefined) return;
    const value = parseVariable(text, schemaAt(SETTINGS, path) ?? {});
    overlays.push({ path, value, source: `command line, ${option}` });
  };
  add(['server', 'host'], host, '--host');
  add(['server', 'port'], port, '--port');
  add(['log', 'level'], logLevel, '--log-level');
  // A variable with the API of a network takes the place of a file.
  const namesNetwork = overlays.some(({ path }) => path[0] === 'networks' && path[2] === 'pChainApi');
  const base = json === undefined ? (namesNetwork ? {} : { networks: EMBEDDED_NETWORKS }) : undefined;
  const networks = networksOf(overlay(base ?? json, overlays));
  const embedded = Object.keys(networks).find((name) => partAt(networks, [name, 'embedded']) !== undefined);
  if (embedded !== undefined) add(['networks', embedded, 'embedded', 'validators'], validators, '--validators');
  const isUseless = validators !== undefined && embedded === undefined;
  const problem = '--validators: is the size of the devnet, and the configuration has none';
  return { overlays, base, problem: isUseless ? problem : undefined };
}

function overlay(settings: unknown, overlays: readonly Overlay[]): unknown {
  return overlays.reduce<unknown>((over, { path, value }) => withPart(over, path, value) ?? over, settings);
}
