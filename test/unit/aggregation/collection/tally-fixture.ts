import { createTally, type Tally, type TallyOptions } from '../../../../src/aggregation/collection/tally.ts';
import type { Outlook } from '../../../../src/aggregation/validators/outlook.ts';
import type { WarpSet } from '../../../../src/validators/warp-set.ts';

/** As of a validator of which nothing is known. */
export const UNKNOWN: Outlook = { kind: 'expected', hedgeAfterMs: 500, rank: 1 };

/** A tally of validators of which nothing is known. */
export function createPlainTally(warpSet: WarpSet, options: Omit<TallyOptions, 'outlooks'>): Tally {
  return createTally(warpSet, { outlooks: warpSet.validators.map(() => UNKNOWN), ...options });
}
