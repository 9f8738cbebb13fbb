import { afterAll, beforeAll, beforeEach } from 'vitest';
import { GoMissingError } from './network-binaries.ts';
import { type RealNetwork, startRealNetwork } from './real-network.ts';

/**
 * One network for all tests of the file that calls this; a function that gives it to them.
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
      network = await startRealNetwork();
    } catch (error) {
      if (!(error instanceof GoMissingError)) throw error;
      goMissing = error;
      console.error(`\n${'!'.repeat(80)}\nNOT TESTED ON REAL NODES. ${error.message}\n${'!'.repeat(80)}\n`);
      return;
    }
    await afterStart(network);
  });
  beforeEach(({ skip }) => skip(goMissing !== undefined, goMissing?.message));
  afterAll(() => network?.[Symbol.asyncDispose]());

  return () => {
    if (network === undefined) throw new Error('the network does not stand');
    return network;
  };
}
