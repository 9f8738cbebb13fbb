import { parseConfig } from '../../../../src/config/load/load-config.ts';
import type { CommandLineSettings } from '../../../../src/config/load/overlays.ts';
import { ConfigError } from '../../../../src/config/schema/config-error.ts';

export const FUJI = { pChainApi: [{ baseUrl: 'https://api.example' }] };
export const MAINNET = { pChainApi: [{ baseUrl: 'https://mainnet.example' }] };
/** The smallest valid file. */
export const BASE = { networks: { fuji: FUJI } };

/** Returns a file with these sections, and these settings of its only network. */
export function fileWith({ network = {}, ...sections }: { network?: object; [section: string]: unknown } = {}) {
  return { networks: { fuji: { ...FUJI, ...network } }, ...sections };
}

/** Parses a file without the process's environment. */
export function configOf(
  file: unknown,
  commandLine: CommandLineSettings = {},
  environment: Record<string, string> = {},
) {
  return parseConfig(file, commandLine, environment).config;
}

/** Returns the problems of a file, without the process's environment. */
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

/** Returns an object with one value at the end of a path. */
export function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}
