import { parseArgs } from 'node:util';
import { apiPortOf, convertGoFile, goFilePath, inGoTerms, parseGoFile } from '../../config/go-aggregator/go-file.ts';
import { parseConfig } from '../../config/load/load-config.ts';
import { readJson } from '../../config/load/read-json.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { EXIT } from '../io/exit-codes.ts';
import { messageOf } from '../io/text.ts';

const USAGE = `
Usage:
signature-aggregator --config-file path-to-config            Specifies the config file and start the signing service.
signature-aggregator --version                               Display signature-aggregator version and exit.
signature-aggregator --help                                  Display signature-aggregator usage and exit.

`;
/** The exit code of every failure of the Go service. */
const FAILED = 1;

/**
 * Replaces the Go aggregator's binary (icm-services `signature-aggregator/main`), with its flags, file and ports.
 *
 * @returns the exit code
 */
export async function runGoAggregator(args: readonly string[], version: string): Promise<number> {
  let flags: ReturnType<typeof parseFlags>;
  try {
    flags = parseFlags(args);
  } catch (error) {
    return failWithUsage(messageOf(error));
  }
  if (flags.version === true) process.stdout.write(`v${version}\n`);
  else if (flags.help === true) process.stdout.write(USAGE);
  else {
    const path = goFilePath(flags['config-file']);
    if (path === undefined) return failWithUsage('there is no config file: name it by --config-file or CONFIG_FILE');
    return serveGoFile(path);
  }
  return EXIT.done;
}

/** Returns the API port of a service with these arguments. @throws {Error} if they name no readable file */
export function goApiPort(args: readonly string[]): number {
  const path = goFilePath(parseFlags(args)['config-file']);
  if (path === undefined) throw new Error('there is no config file');
  return apiPortOf(parseGoFile(readJson(path)));
}

function parseFlags(args: readonly string[]) {
  const options = {
    'config-file': { type: 'string' },
    version: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  return parseArgs({ args: [...args], options, allowPositionals: true }).values;
}

async function serveGoFile(path: string): Promise<number> {
  let json: unknown;
  try {
    json = readJson(path);
  } catch (error) {
    return failWithUsage(messageOf(error));
  }
  let inTerms = (text: string): string => text;
  try {
    const { askNetworkIDOf } = await import('../io/network-id-of-go-file.ts');
    const file = parseGoFile(json);
    const networkID = await askNetworkIDOf(file);
    const { networkName, remarks } = convertGoFile(file, networkID);
    inTerms = (text) => inGoTerms(text, networkName);
    const { serve } = await import('./serve.ts');
    return await serve(
      () => parseConfig(convertGoFile(parseGoFile(readJson(path)), networkID).settings, {}, undefined, path),
      {
        onStart: (logger) => introduce(logger, path, remarks),
        describe: inTerms,
      },
    );
  } catch (error) {
    process.stderr.write(`could not run: ${inTerms(messageOf(error))}\n`);
    return FAILED;
  }
}

function introduce(logger: Logger, file: string, remarks: readonly string[]): void {
  logger.info(
    { file },
    'serving in place of the Go signature aggregator: its file and its two ports, no limits and no API keys',
  );
  for (const remark of remarks) logger.info(remark);
  logger.info(
    `for all other features: warp-signature-aggregator convert ${file} prints a configuration of this service; ` +
      'docs/switch-from-go.md lists the differences',
  );
}

function failWithUsage(problem: string): number {
  process.stdout.write(USAGE);
  process.stderr.write(`${problem}\n`);
  return FAILED;
}
