import { createTally, type Tally, type TallyOptions } from '../../../../src/aggregation/collection/tally.ts';
import type { ValidatorForecast } from '../../../../src/aggregation/validators/validator-forecast.ts';
import type { WarpSet } from '../../../../src/validators/warp-set.ts';

/** Forecast of a validator without a record. */
export const UNKNOWN: ValidatorForecast = { kind: 'expected', hedgeAfterMs: 500, rank: 1 };

/** A tally of validators of which nothing is known. */
export function createPlainTally(warpSet: WarpSet, options: Omit<TallyOptions, 'forecasts'>): Tally {
  return createTally(warpSet, { forecasts: warpSet.validators.map(() => UNKNOWN), ...options });
}
