import { type CommandLineSettings, parseConfig } from '../../../../src/config/load/load-config.ts';
import { ConfigError } from '../../../../src/config/load/problems.ts';

export const FUJI = { pChainApi: [{ baseUrl: 'https://api.example' }] };
/** The smallest file there is. */
export const BASE = { networks: { fuji: FUJI } };

/** A file with these sections, and with these settings of its one network. */
export function fileWith({ network = {}, ...sections }: { network?: object; [section: string]: unknown } = {}) {
  return { networks: { fuji: { ...FUJI, ...network } }, ...sections };
}

/** The configuration of a file, without the process's own environment. */
export function configOf(
  file: unknown,
  commandLine: CommandLineSettings = {},
  environment: Record<string, string> = {},
) {
  return parseConfig(file, commandLine, environment).config;
}

/** What is wrong with a file, line by line; empty where it is good. */
export function problemsOf(
  file: unknown,
  commandLine: CommandLineSettings = {},
  environment: Record<string, string> = {},
): readonly string[] {
  return problemsIn(() => parseConfig(file, commandLine, environment));
}

export function problemsIn(run: () => unknown): readonly string[] {
  try {
    run();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** An object with one value at the end of a path. */
export function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}
