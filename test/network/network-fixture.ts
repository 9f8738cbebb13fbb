import { beforeAll, beforeEach } from 'vitest';
import { GoMissingError } from './go-build.ts';
import { type RealNetwork, startRealNetwork } from './real-network.ts';
import { showLogsOfFailures } from './service-process.ts';

/** The network of all files that run in this process. */
let shared: Promise<RealNetwork> | undefined;

/**
 * One network for all tests of the run, which leave its nodes running and its L1 as it was; a function that gives it to them. It ends with
 * this process.
 *
 * Without Go the tests are skipped, loudly. Anything else that keeps the network from standing fails them.
 *
 * @param afterStart what else the file needs once; its own hooks would not know that Go is missing
 */
export function useRealNetwork(
  afterStart: (network: RealNetwork) => Promise<void> = async () => {},
): () => RealNetwork {
  let network: RealNetwork | undefined;
  let goMissing: GoMissingError | undefined;

  beforeAll(async () => {
    try {
      shared ??= startRealNetwork();
      network = await shared;
    } catch (error) {
      if (!(error instanceof GoMissingError)) throw error;
      goMissing = error;
      console.error(`\n${'!'.repeat(80)}\nNOT TESTED ON REAL NODES. ${error.message}\n${'!'.repeat(80)}\n`);
      return;
    }
    await afterStart(network);
  });
  beforeEach(({ skip }) => skip(goMissing !== undefined, goMissing?.message));
  showLogsOfFailures();

  return () => {
    if (network === undefined) throw new Error('the network does not stand');
    return network;
  };
}
