import type { SubnetWeights } from '../../aggregation/subnets/subnet-views.ts';

export const SAMPLE_MS = 10_000;
/** Samples of one subnet. At this number every other one is dropped and the step doubles, so they always begin with the start. */
export const MAX_SAMPLES = 240;
/** Bound of the memory: with {@link MAX_SAMPLES} of some 60 bytes each, 1 MB. The subnet that was not requested for the longest time is dropped. */
export const MAX_SUBNETS = 64;

/** Weight of a subnet as shares of the total weight, from 0 to 1. */
interface WeightSample {
  readonly at: number;
  readonly connected: number;
  readonly signable: number;
}

interface History {
  readonly network: string;
  readonly subnetId: string;
  readonly samples: WeightSample[];
  stepMs: number;
}

/** Connected and signable weight of each subnet since the start, or since it was first requested. */
export class WeightHistory {
  /** Keyed by network and subnet; the last is the most recently requested. */
  readonly #histories = new Map<string, History>();

  /** @param weights the most recently requested subnet first */
  sample(network: string, weights: readonly SubnetWeights[], now: number): void {
    for (const { subnetID, totalWeight, connectedWeight, signableWeight } of weights.toReversed()) {
      if (totalWeight === 0n) continue;
      const key = `${network}/${subnetID}`;
      const history = this.#histories.get(key) ?? { network, subnetId: subnetID, samples: [], stepMs: SAMPLE_MS };
      this.#histories.delete(key);
      this.#histories.set(key, history);
      add(history, {
        at: now,
        connected: ratio(connectedWeight, totalWeight),
        signable: ratio(signableWeight, totalWeight),
      });
    }
    for (const key of this.#histories.keys()) {
      if (this.#histories.size <= MAX_SUBNETS) break;
      this.#histories.delete(key);
    }
  }

  /** Subnets of a network with their samples, the oldest first. */
  ofNetwork(network: string): { readonly subnetId: string; readonly samples: readonly WeightSample[] }[] {
    return [...this.#histories.values()]
      .filter((history) => history.network === network)
      .map(({ subnetId, samples }) => ({ subnetId, samples }));
  }
}

function add(history: History, sample: WeightSample): void {
  const { samples } = history;
  const last = samples.at(-1);
  // Timers are a little late or early; half a step keeps the pace.
  if (last !== undefined && sample.at - last.at < history.stepMs - SAMPLE_MS / 2) return;
  samples.push(sample);
  if (samples.length < MAX_SAMPLES) return;
  const kept = samples.filter((_, index) => index % 2 === 0);
  samples.splice(0, samples.length, ...kept);
  history.stepMs *= 2;
}

function ratio(part: bigint, whole: bigint): number {
  return Number((part * 10_000n) / whole) / 10_000;
}
