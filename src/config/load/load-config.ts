import { isObject } from '../../lib/encoding/is-object.ts';
import { isGoFile } from '../go-aggregator/go-file.ts';
import { ConfigError } from '../schema/config-error.ts';
import { SETTINGS, type Settings } from '../schema/schema.ts';
import { networksOf, type Path, partAt } from '../schema/setting.ts';
import { type Environment, isWithin, settingsOf } from '../schema/variables.ts';
import { type Config, toConfig } from '../settings.ts';
import { addDerivedDefaults } from './derived-defaults.ts';
import { expandTexts } from './expand-texts.ts';
import { type CommandLineSettings, FILE_VARIABLE, overlay, readEnvironment, withCommandLine } from './overlays.ts';
import { findOpenProxies, findSuspicious, findUnkeptFeeds, findUnusedLimits, Problems } from './problems.ts';
import { findProxyProblem } from './proxy-variables.ts';
import { readJson } from './read-json.ts';
import { readTraceVariables } from './trace-variables.ts';
import { validate } from './validate.ts';

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
  const settings = structuredClone(overlay(base ?? expanded.value, overlays));
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
  for (const line of [...fromEnvironment.problems, ...(problem === undefined ? [] : [problem])]) problems.addLine(line);
  const proxyProblem = findProxyProblem(environment);
  if (proxyProblem !== undefined) problems.addLine(proxyProblem);
  problems.addErrors(validate(settings), settings);
  if (problems.count > 0) throw new ConfigError(problems.lines, { count: problems.count });
  addDerivedDefaults(settings);

  return {
    config: { ...toConfig(settings as Settings), traces: readTraceVariables(environment) },
    settings: settings as Settings,
    given,
    warnings: [
      ...findSuspicious(settingsOf(SETTINGS, Object.keys(networksOf(settings))), settings),
      ...findUnusedLimits(given, settings),
      ...findUnkeptFeeds(settings),
      ...findOpenProxies(settings),
    ],
    sourceOf: (path) => sourceOf(path) ?? (partAt(json, path) === undefined ? 'default' : file),
  };
}
