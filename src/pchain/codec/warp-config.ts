import { isObject } from '../../lib/encoding/is-object.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { readArray, readObject, readU64 } from './json-fields.ts';

/** How a chain verifies Warp messages (subnet-evm `precompile/contracts/warp/config.go`). */
export interface WarpConfig {
  /** False before the precompile is activated, and after it was disabled: then no message is accepted. */
  readonly isEnabled: boolean;
  /** Percent of the weight that must have signed. */
  readonly quorumNum: bigint;
  /** Whether the primary network signs messages of the C-Chain and the X-Chain, in place of the chain's own subnet. */
  readonly requirePrimaryNetworkSigners: boolean;
}

/** A configuration from the time of a block on. */
export interface WarpUpgrade extends WarpConfig {
  /** Unix seconds. */
  readonly timestamp: bigint;
}

const QUORUM_DENOMINATOR = 100n;
/** Chains have one to three. */
const MAX_UPGRADES = 64;

export const NO_WARP: WarpConfig = {
  isEnabled: false,
  quorumNum: DEFAULT_QUORUM_NUM,
  requirePrimaryNetworkSigners: false,
};

/**
 * Parses the Warp configurations in the result of `eth_getChainConfig`: the one of the genesis, then `precompileUpgrades` in their
 * order. Empty for a chain without the precompile.
 */
export function parseWarpUpgrades(result: unknown): readonly WarpUpgrade[] {
  const config = readObject(result, 'chain config');
  const upgrades = isPresent(config.upgrades) ? readObject(config.upgrades, 'upgrades') : {};
  const later = isPresent(upgrades.precompileUpgrades)
    ? readArray(upgrades.precompileUpgrades, 'precompileUpgrades')
    : [];
  const found = [config, ...later]
    .map((holder) => (isObject(holder) ? holder.warpConfig : undefined))
    .filter(isPresent)
    .map(parseUpgrade);
  if (found.length <= MAX_UPGRADES) return found;
  throw new ParseError('precompileUpgrades', `has ${found.length} of warpConfig, at most ${MAX_UPGRADES} are read`);
}

/** Returns the configuration of a block at this time in Unix seconds: the last upgrade that has begun. */
export function activeWarpConfig(upgrades: readonly WarpUpgrade[], time: bigint): WarpConfig {
  return upgrades.findLast(({ timestamp }) => timestamp <= time) ?? NO_WARP;
}

function parseUpgrade(value: unknown): WarpUpgrade {
  const config = readObject(value, 'warpConfig');
  const numerator = isPresent(config.quorumNumerator) ? readU64(config.quorumNumerator, 'quorumNumerator') : 0n;
  if (numerator > QUORUM_DENOMINATOR) {
    throw new ParseError('quorumNumerator', `must be at most ${QUORUM_DENOMINATOR}, is ${numerator}`);
  }
  return {
    timestamp: isPresent(config.blockTimestamp) ? readU64(config.blockTimestamp, 'blockTimestamp') : 0n,
    isEnabled: !readFlag(config.disable, 'disable'),
    // 0 stands for the default.
    quorumNum: numerator === 0n ? DEFAULT_QUORUM_NUM : numerator,
    requirePrimaryNetworkSigners: readFlag(config.requirePrimaryNetworkSigners, 'requirePrimaryNetworkSigners'),
  };
}

function readFlag(value: unknown, what: string): boolean {
  if (!isPresent(value)) return false;
  if (typeof value !== 'boolean') throw new ParseError(what, 'must be true or false');
  return value;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}
