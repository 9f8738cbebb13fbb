import { createSeededRandom } from '../../src/devnet/seeded-random.ts';
import type { Random } from '../../src/lib/concurrency/clock.ts';
import type { Behaviour } from '../devnet/behaviour.ts';

/** One way to misbehave. */
export interface Misbehaviour {
  readonly name: string;
  /** How often it is drawn, beside the others. */
  readonly frequency: number;
  /** Whether a signature that counts may come of it after all. */
  readonly mayYetSign: boolean;
  readonly create: (random: Random) => Behaviour;
}

/** A validator that can misbehave. */
export interface WeightedIndex {
  readonly index: number;
  readonly weight: bigint;
}

/** Keys are the validators' indices. */
export type Misbehaviours = ReadonlyMap<number, Misbehaviour & { readonly behaviour: Behaviour }>;

/** A refusal that may pass, one for good, and one that is final for now. */
const REFUSAL_CODES = [1, -2, -3];
/** Delay that counts as no answer. */
const SLOW_MS = { least: 200, most: 2_000 };
const SHARE_DIGITS = 10_000;

/** Every way in which a validator of the devnet can misbehave. */
export const MISBEHAVIOURS: readonly Misbehaviour[] = [
  never('silent', () => ({ kind: 'silent' }), 2),
  later('slow', (random) => ({ kind: 'slow', delayMs: slowMs(random) }), 2),
  later('slow, then right', (random) => ({ kind: 'slow', delayMs: slowMs(random), answers: 1 })),
  later('lagging', (random) => ({ kind: 'lagging', refusals: 1 + below(random, 2) })),
  later('executing late', (random) => ({ kind: 'executing late', lagMs: 50 + below(random, 2_000) })),
  ...REFUSAL_CODES.map((code) =>
    never(`refusing with ${code}`, () => ({ kind: 'refusing', code, message: `refused with ${code}` })),
  ),
  never('signature of another message', () => ({ kind: 'wrong signature' })),
  never('signature of another key', () => ({ kind: 'foreign signature' })),
  never('random bytes', () => ({ kind: 'random signature' })),
  never('no point', () => ({ kind: 'garbage signature' })),
  never('95 bytes', () => ({ kind: 'garbage signature', length: 95 })),
  never('infinity', () => ({ kind: 'infinity' })),
  never('off the subgroup', () => ({ kind: 'off subgroup' })),
  // Of two whose errors cancel, both count: the sum is the one that good signatures would have.
  later('colluding, plus', () => ({ kind: 'colluding', error: 'plus' })),
  later('colluding, minus', () => ({ kind: 'colluding', error: 'minus' })),
  later('answering twice', () => ({ kind: 'answering twice' })),
  later('answering under another request ID', () => ({ kind: 'misnumbering' })),
  later('answering unasked', () => ({ kind: 'unasked' })),
  never('frame over the limit', () => ({ kind: 'oversized frame' })),
  never('frame that never ends', () => ({ kind: 'unfinished frame' })),
  never('frame of garbage', () => ({ kind: 'garbage' })),
  never('compressed bomb', () => ({ kind: 'compressed bomb' })),
  never('one byte a second', () => ({ kind: 'trickling' })),
  never('disconnecting before the answer', () => ({ kind: 'disconnecting', when: 'before' })),
  never('disconnecting during the answer', () => ({ kind: 'disconnecting', when: 'during' })),
  later('disconnecting after the answer', () => ({ kind: 'disconnecting', when: 'after' })),
  never('frozen', () => ({ kind: 'frozen' })),
  never('not admitting', () => ({ kind: 'not admitting' })),
  never('TLS that hangs', () => ({ kind: 'hanging TLS' })),
  never('what is not TLS', () => ({ kind: 'garbage TLS' })),
  never("another node's certificate", () => ({ kind: 'wrong certificate' })),
  never('certificate that no node may have', () => ({ kind: 'malformed certificate' })),
  later('old version', () => ({ kind: 'old version' })),
  later('lying about addresses', () => ({ kind: 'lying about addresses' })),
  later('another address', () => ({ kind: 'moving' })),
  later('two nodes with one NodeID', () => ({ kind: 'twin' })),
];

/**
 * Which validators misbehave and how: the same for the same seed. They are drawn until no other fits into the share of the weight.
 *
 * @param maxWeightShare of the weight of all these validators, 0 to 1
 * @param among the ways to choose from
 */
export function misbehaviourFromSeed(
  seed: number,
  validators: readonly WeightedIndex[],
  maxWeightShare: number,
  among: readonly Misbehaviour[] = MISBEHAVIOURS,
): Misbehaviours {
  const random = createSeededRandom(seed);
  const total = validators.reduce((sum, { weight }) => sum + weight, 0n);
  const most = (total * BigInt(Math.floor(maxWeightShare * SHARE_DIGITS))) / BigInt(SHARE_DIGITS);
  const order = validators.map((validator) => ({ validator, at: random() })).toSorted((a, b) => a.at - b.at);
  // Every fourth seed has one way for all, as a bug that many run would have.
  const common = random() < 0.25 ? draw(among, random) : undefined;
  const drawn = new Map<number, Misbehaviour & { readonly behaviour: Behaviour }>();
  let weight = 0n;
  for (const { validator } of order) {
    if (weight + validator.weight > most) continue;
    weight += validator.weight;
    const misbehaviour = common ?? draw(among, random);
    drawn.set(validator.index, { ...misbehaviour, behaviour: misbehaviour.create(random) });
  }
  return drawn;
}

function draw(among: readonly Misbehaviour[], random: Random): Misbehaviour {
  let left = random() * among.reduce((sum, { frequency }) => sum + frequency, 0);
  for (const misbehaviour of among) {
    left -= misbehaviour.frequency;
    if (left < 0) return misbehaviour;
  }
  const last = among.at(-1);
  if (last === undefined) throw new RangeError('there is no way to misbehave');
  return last;
}

function never(name: string, create: Misbehaviour['create'], frequency = 1): Misbehaviour {
  return { name, create, frequency, mayYetSign: false };
}

function later(name: string, create: Misbehaviour['create'], frequency = 1): Misbehaviour {
  return { name, create, frequency, mayYetSign: true };
}

function slowMs(random: Random): number {
  return SLOW_MS.least + below(random, SLOW_MS.most - SLOW_MS.least);
}

function below(random: Random, end: number): number {
  return Math.floor(random() * end);
}
