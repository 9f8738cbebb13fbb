import { nearestName } from '../../lib/encoding/nearest-name.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { DEFAULT_NETWORKS, DEVNET_SIZE, isDevnet } from '../schema/network-schema.ts';
import { SETTINGS } from '../schema/schema.ts';
import { networksOf, schemaAt, withPart } from '../schema/setting.ts';
import {
  type Environment,
  networkOfVariable,
  PREFIX,
  parseVariable,
  settingOfVariable,
  settingsOf,
  variableName,
} from '../schema/variables.ts';
import { scanJson } from './read-json.ts';

export interface CommandLineSettings {
  readonly config?: string;
  readonly host?: string;
  readonly port?: string;
  readonly logLevel?: string;
  /** The size of the devnet, whatever its name. */
  readonly validators?: string;
}

export const FILE_VARIABLE = `${PREFIX}CONFIG`;

/** A setting that takes the place of the file's. */
export interface Overlay {
  readonly path: readonly string[];
  readonly value: unknown;
  /** The variable or option with the value, in words. */
  readonly source: string;
}

/** @param named the variables that texts of the file name: they may have our prefix */
export function readEnvironment(json: unknown, environment: Environment, named: ReadonlySet<string>) {
  const overlays: Overlay[] = [];
  const problems: string[] = [];
  for (const [variable, text] of Object.entries(environment)) {
    if (variable === FILE_VARIABLE || text === undefined) continue;
    if (!variable.startsWith(PREFIX)) {
      const meant = withPrefixMended(variable);
      if (meant !== undefined) problems.push(`${variable}: no setting has this variable; did you mean ${meant}?`);
      continue;
    }
    const setting = settingOfVariable(SETTINGS, variable);
    // Shells and container files do not distinguish an empty variable from one that is not set.
    if (setting !== undefined && text !== '') {
      const value = parseVariable(text, setting.schema);
      overlays.push({ path: setting.path, value, source: `environment variable ${variable}` });
      // `JSON.parse` keeps the last of equal keys.
      const { repeated } = typeof value === 'object' ? scanJson(text, variable) : { repeated: [] };
      problems.push(...repeated.map((key) => `${variable}: has ${key}`));
    } else if (setting === undefined && !named.has(variable) && !isOfKubernetes(variable, environment)) {
      problems.push(`${variable}: no setting has this variable; ${adviceOn(variable, json)}`);
    }
  }
  // A variable for part of an endpoint overrides the one for the whole endpoint.
  overlays.sort((a, b) => a.path.length - b.path.length);
  return { overlays, problems };
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
export function withCommandLine(environment: readonly Overlay[], json: unknown, options: CommandLineSettings) {
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
  const base = json === undefined ? (namesNetwork ? {} : { networks: DEFAULT_NETWORKS }) : undefined;
  const networks = networksOf(overlay(base ?? json, overlays));
  const devnet = Object.keys(networks).find((name) => isDevnet(networks[name]));
  if (devnet !== undefined) add(['networks', devnet, ...DEVNET_SIZE], validators, '--validators');
  const isUseless = validators !== undefined && devnet === undefined;
  const problem = '--validators: is the size of the devnet, and the configuration has none';
  return { overlays, base, problem: isUseless ? problem : undefined };
}

/** Copies settings with these in place of theirs, as far as they lead through objects. */
export function overlay(settings: unknown, overlays: readonly Overlay[]): unknown {
  return overlays.reduce<unknown>((over, { path, value }) => withPart(over, path, value) ?? over, settings);
}
