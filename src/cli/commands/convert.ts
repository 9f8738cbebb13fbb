import { convertGoFile, inGoTerms, parseGoFile } from '../../config/go-aggregator/go-file.ts';
import { parseConfig } from '../../config/load/load-config.ts';
import { readJson } from '../../config/load/read-json.ts';
import { ConfigError } from '../../config/schema/config-error.ts';
import { CommandFailure, EXIT } from '../io/exit-codes.ts';
import { askNetworkIDOf } from '../io/network-id-of-go-file.ts';
import { messageOf, print } from '../io/text.ts';

/**
 * Prints the configuration of this service with the same meaning as a file of the Go aggregator. Remarks go to standard error.
 *
 * @throws {CommandFailure}, {@link ConfigError}
 */
export async function convert(path: string): Promise<number> {
  const file = parseGoFile(readJson(path), {});
  let networkID: number;
  try {
    networkID = await askNetworkIDOf(file);
  } catch (cause) {
    throw new CommandFailure(EXIT.later, `${messageOf(cause)}; the network ID, which it reports, names the network`, {
      cause,
    });
  }
  const { networkName, settings, remarks } = convertGoFile(file, networkID);
  try {
    parseConfig(settings);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.problems.map((problem) => inGoTerms(problem, networkName)));
  }
  print(JSON.stringify(settings, undefined, 2));
  for (const remark of remarks) process.stderr.write(`${remark}\n`);
  return EXIT.done;
}
