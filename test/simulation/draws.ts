import { hash } from 'node:crypto';

/**
 * Random draws from a seed. Each part of a simulation takes a {@link Draws.fork} with its name, so that more draws in one part do not
 * change those of others.
 */
export class Draws {
  readonly #seed: string;
  #state: [number, number, number, number];

  constructor(seed: string) {
    this.#seed = seed;
    const digest = hash('sha256', seed, 'buffer');
    this.#state = [digest.readInt32LE(0), digest.readInt32LE(4), digest.readInt32LE(8), digest.readInt32LE(12)];
  }

  fork(name: string): Draws {
    return new Draws(`${this.#seed}/${name}`);
  }

  /** Uniform in [0, 1), by sfc32. */
  readonly next = (): number => {
    let [a, b, c, d] = this.#state;
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    this.#state = [a, b, c, d];
    return (sum >>> 0) / 2 ** 32;
  };

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Both ends included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.int(0, from.length - 1)];
    if (picked === undefined) throw new RangeError('nothing to pick from');
    return picked;
  }

  /** Draws one of the names by weight; undefined if all weights are 0. */
  weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name | undefined {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return undefined;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.int(0, 255));
  }
}
