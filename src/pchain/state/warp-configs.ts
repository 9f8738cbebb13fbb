import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { activeWarpConfig, type WarpConfig, type WarpUpgrade } from '../codec/warp-config.ts';
import { ApiError } from '../rpc/api-error.ts';
import type { EvmApi } from '../rpc/evm-api.ts';

export type WarpReading =
  | { readonly kind: 'read'; readonly config: WarpConfig }
  | {
      readonly kind: 'unreadable';
      readonly reason: string;
      /** Whether the RPC may answer later; it refused the call, or has no such chain, otherwise. */
      readonly mayPass: boolean;
    };

type Kept =
  | { readonly kind: 'read'; readonly upgrades: readonly WarpUpgrade[] }
  | Extract<WarpReading, { kind: 'unreadable' }>;

/** Chains of one network. An entry takes under 10 KB, and mostly 0.3 KB. */
const MAX_CHAINS = 1_000;
/** A node reads new upgrades when it starts, long before their time. Upgrades that begin meanwhile are in the cached list. */
const READ_MS = 5 * 60_000;
const REFUSED_MS = 60_000;
const UNAVAILABLE_MS = 5_000;
/** Less than the deadline of the request that waits for it. */
const TIMEOUT_MS = 1_500;

/** Cache of the Warp configurations of chains, also of those that cannot be read. Equal calls in flight are shared. */
export interface WarpConfigs {
  /** @throws the signal's reason */
  get(chainID: BlockchainID, signal: AbortSignal): Promise<WarpReading>;
  /** Returns undefined if it is not cached. */
  known(chainID: BlockchainID): WarpReading | undefined;
}

export function createWarpConfigs(evm: Pick<EvmApi, 'getWarpUpgrades'>, clock: Clock): WarpConfigs {
  const configs = new FreshCache<BlockchainID, Kept>({
    clock,
    max: MAX_CHAINS,
    maxAgeMs: (kept) => (kept.kind === 'read' ? READ_MS : kept.mayPass ? UNAVAILABLE_MS : REFUSED_MS),
    async load(chainID, parent) {
      using deadline = startDeadline(clock, TIMEOUT_MS, 'eth_getChainConfig', parent);
      try {
        return { kind: 'read', upgrades: await evm.getWarpUpgrades(chainID, deadline.signal) };
      } catch (error) {
        parent.throwIfAborted();
        if (error instanceof ApiError) {
          return { kind: 'unreadable', reason: error.message, mayPass: error.code === 'unavailable' };
        }
        if (!deadline.signal.aborted) throw error;
        return { kind: 'unreadable', reason: 'its RPC did not answer in time', mayPass: true };
      }
    },
  });

  function atPresent(kept: Kept): WarpReading {
    if (kept.kind === 'unreadable') return kept;
    // By the clock: a chain without recent blocks verifies a delivery in a new block.
    const now = BigInt(Math.floor(clock.now() / 1_000));
    return { kind: 'read', config: activeWarpConfig(kept.upgrades, now) };
  }

  return {
    get: async (chainID, signal) => atPresent(await configs.get(chainID, signal)),
    known(chainID) {
      const kept = configs.peek(chainID);
      return kept && atPresent(kept);
    },
  };
}
