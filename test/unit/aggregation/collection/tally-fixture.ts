import { createTally, type Tally, type TallyOptions } from '../../../../src/aggregation/collection/tally.ts';
import {
  transition,
  type ValidatorEvent,
  type ValidatorState,
} from '../../../../src/aggregation/collection/validator-state.ts';
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

/** A state without earlier attempts that matter. */
export function stateOf(state: DistributiveOmit<ValidatorState, 'attempts' | 'timeouts'>): ValidatorState {
  return { attempts: 1, timeouts: 0, ...state };
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** Lets events happen to a validator of one node. */
export function happen(tally: Tally, index: number, ...events: readonly ValidatorEvent[]): void {
  const limits = { refusalDelaysMs: [50], unreachableDelaysMs: [300] };
  const rules = { nodeCount: 1, isPChainMessage: false, isRegistrable: false, limits };
  for (const event of events) tally.set(index, transition(tally.states[index] as ValidatorState, event, rules));
}

/** A tally of validators of which nothing is known. */
export function createPlainTally(warpSet: WarpSet, options: Omit<TallyOptions, 'forecasts'>): Tally {
  return createTally(warpSet, { forecasts: warpSet.validators.map(() => UNKNOWN), ...options });
}
