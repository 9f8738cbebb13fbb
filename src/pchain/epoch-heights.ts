import { LRUCache } from 'lru-cache';
import type { Clock } from '../primitives/clock.ts';
import type { BlockchainID } from '../primitives/ids.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import type { ChainApi } from './chain-api.ts';

/** The P-Chain heights at which chains verify Warp messages now. */
export interface EpochHeights {
  /**
   * The height of a chain's current epoch, at most a second old; undefined where it has no epochs and verifies at the
   * proposed height.
   *
   * @throws {ApiError}, or the signal's reason
   */
  heightOf(chainID: BlockchainID, signal: AbortSignal): Promise<bigint | undefined>;
}

/** An epoch lasts minutes; a busy service asks for each chain once a second. */
const MAX_AGE_MS = 1_000;
/** Far more chains than anybody sends to within a second. */
const MAX_CHAINS = 1_000;

export function createEpochHeights(api: Pick<ChainApi, 'getCurrentEpoch'>, clock: Clock): EpochHeights {
  const kept = new LRUCache<BlockchainID, { readonly height: bigint | undefined; readonly receivedMs: number }>({
    max: MAX_CHAINS,
  });
  const flights = new SingleFlight<BlockchainID, bigint | undefined>();

  async function fetchHeight(chainID: BlockchainID, signal: AbortSignal): Promise<bigint | undefined> {
    const { number, pChainHeight } = await api.getCurrentEpoch(chainID, signal);
    const height = number === 0n ? undefined : pChainHeight;
    kept.set(chainID, { height, receivedMs: clock.monotonicMs() });
    return height;
  }

  return {
    async heightOf(chainID, signal) {
      signal.throwIfAborted();
      const known = kept.get(chainID);
      if (known !== undefined && clock.monotonicMs() - known.receivedMs < MAX_AGE_MS) return known.height;
      return flights.run(chainID, (flight) => fetchHeight(chainID, flight), signal);
    },
  };
}
