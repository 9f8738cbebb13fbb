import { convertGoFile, inGoTerms, parseGoFile } from '../../config/go-aggregator/go-file.ts';
import { parseConfig } from '../../config/load/load-config.ts';
import { readJson } from '../../config/load/read-json.ts';
import { ConfigError } from '../../config/schema/config-error.ts';
import { asConfigFailure } from '../io/config-failure.ts';
import { CommandFailure, EXIT } from '../io/exit-codes.ts';
import { askNetworkIDOf } from '../io/network-id-of-go-file.ts';
import { messageOf, print } from '../io/text.ts';

/**
 * Prints the configuration of this service with the same meaning as a file of the Go aggregator. Remarks go to standard error.
 *
 * @throws {CommandFailure}
 */
export async function convert(path: string): Promise<number> {
  const file = describing(() => parseGoFile(readJson(path), {}));
  let networkID: number;
  try {
    networkID = await askNetworkIDOf(file);
  } catch (cause) {
    throw new CommandFailure(EXIT.later, `${messageOf(cause)}; the network ID, which it reports, names the network`, {
      cause,
    });
  }
  const { networkName, settings, remarks } = convertGoFile(file, networkID);
  describing(
    () => parseConfig(settings),
    (text) => inGoTerms(text, networkName),
  );
  print(JSON.stringify(settings, undefined, 2));
  for (const remark of remarks) process.stderr.write(`${remark}\n`);
  return EXIT.done;
}

function describing<T>(parse: () => T, inTerms: (text: string) => string = (text) => text): T {
  try {
    return parse();
  } catch (error) {
    throw asConfigFailure(error instanceof ConfigError ? new ConfigError(error.problems.map(inTerms)) : error);
  }
}
