import { createTally, type Tally, type TallyOptions } from '../../../../src/aggregation/collection/tally.ts';
import type { ValidatorForecast } from '../../../../src/aggregation/validators/validator-forecast.ts';
import { createWarpSet, type WarpSet } from '../../../../src/validators/warp-set.ts';
import { nodeIDFromBytes } from '../../../../src/warp/ids.ts';

/** Forecast of a validator without a record. */
export const UNKNOWN: ValidatorForecast = { kind: 'expected', hedgeAfterMs: 500, rank: 1 };

/** Validators whose canonical index is their position in `weights`. */
export function setOf(weights: readonly bigint[], keyless = 0n): WarpSet {
  const validators = weights.map((weight, index) => ({
    nodeID: nodeIDFromBytes(new Uint8Array(20).fill(index)),
    publicKey: Uint8Array.of(...new Uint8Array(47), index),
    weight,
  }));
  const nodeID = nodeIDFromBytes(new Uint8Array(20).fill(weights.length));
  return createWarpSet(
    keyless === 0n ? validators : [...validators, { nodeID, publicKey: undefined, weight: keyless }],
  );
}

/** A tally of validators of which nothing is known. */
export function createPlainTally(warpSet: WarpSet, options: Omit<TallyOptions, 'forecasts'>): Tally {
  return createTally(warpSet, { forecasts: warpSet.validators.map(() => UNKNOWN), ...options });
}
