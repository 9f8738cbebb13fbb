import type { SubnetWeights } from '../../aggregation/subnets/subnet-views.ts';
import type { SubnetID } from '../../warp/ids.ts';

export interface WeightSample {
  /** Unix time in milliseconds. */
  readonly at: number;
  /** Of the total weight, from 0 to 1. */
  readonly connected: number;
  readonly signable: number;
}

export const SAMPLE_MS = 10_000;
/** Of one subnet. When there are as many, every other one goes, and from then on half as many come: it stays "since the start". */
export const MAX_SAMPLES = 240;
/** With {@link MAX_SAMPLES} of some 60 bytes each: 1 MB. A subnet that nobody has asked for lately makes room. */
export const MAX_SUBNETS = 64;

interface History {
  readonly samples: WeightSample[];
  stepMs: number;
}

/** How much weight of each subnet was connected, and could have signed, since the service started or first heard of it. */
export class WeightHistory {
  /** By network and subnet; what was asked for last stands last. */
  readonly #histories = new Map<string, History>();

  /** @param weights the subnet asked for last first */
  sample(network: string, weights: readonly SubnetWeights[], now: number): void {
    for (const { subnetID, totalWeight, connectedWeight, signableWeight } of weights.toReversed()) {
      if (totalWeight === 0n) continue;
      const key = keyOf(network, subnetID);
      const history = this.#histories.get(key) ?? { samples: [], stepMs: SAMPLE_MS };
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

  /** The oldest first. */
  of(network: string, subnetID: SubnetID): readonly WeightSample[] {
    return this.#histories.get(keyOf(network, subnetID))?.samples ?? [];
  }

  /** Of one network. */
  subnets(network: string): SubnetID[] {
    const prefix = keyOf(network, '');
    return [...this.#histories.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length) as SubnetID);
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

function keyOf(network: string, subnetID: string): string {
  return `${network}/${subnetID}`;
}

function ratio(part: bigint, whole: bigint): number {
  return Number((part * 10_000n) / whole) / 10_000;
}
