import { concatBytes } from '../../src/lib/encoding/bytes.ts';
import { encodeSignedMessage } from '../../src/warp/signed-message.ts';
import type { UnsignedMessage } from '../../src/warp/unsigned-message.ts';
import type { BlsScheme } from './bls-scheme.ts';
import type { Draws } from './draws.ts';

/** Wrong answers to a replica, by relative frequency. */
export const LIES = {
  'flips a bit': 2,
  'cuts short': 1,
  'of another key': 2,
  /** What was there before, and is out of date. */
  'of before': 2,
  'random bytes': 1,
  'too long': 0.1,
  'another type': 1,
  nothing: 2,
  /** A value of no replica: an invalid message, or a lease without holder. */
  forged: 4,
};
export type Lie = keyof typeof LIES;

export interface StoreEntry {
  readonly value: string | readonly string[];
  readonly endsMs: number;
  readonly writtenMs: number;
  /** The process; undefined for forged values. */
  readonly writer: number | undefined;
}

/** What is in the store, and what each key had before, the latest last. */
export interface Contents {
  readonly entries: Map<string, StoreEntry>;
  readonly history: ReadonlyMap<string, readonly string[]>;
}

/** What a liar knows of the work under a key. */
export interface Target {
  readonly message: UnsignedMessage;
  /** Keys of the validators, in their canonical order. */
  readonly keys: readonly number[];
}

export interface LiarOptions {
  readonly scheme: BlsScheme;
  /** In front of the names of values. */
  readonly scope: string;
  /** Finds the target of a value's name. */
  targetOf(name: string): Target | undefined;
}

const TOKEN_BYTES = 16;
const COUNT_BYTES = 4;
/** Kinds of `distributed-single-flight.ts`. */
const [LEASE, OUTCOME] = [1, 2];
/** More than any value that is read. */
const TOO_LONG = 1024 * 1024 + 1;

/** An attacker that reads and writes the store to mislead replicas. */
export class Liar {
  readonly #options: LiarOptions;

  constructor(options: LiarOptions) {
    this.#options = options;
  }

  tell(
    lie: Lie,
    { key, answer }: { readonly key: string; readonly answer: unknown },
    redis: Contents,
    draws: Draws,
  ): unknown {
    const bytes = answer instanceof Uint8Array ? answer : undefined;
    switch (lie) {
      case 'flips a bit': {
        if (bytes === undefined || bytes.length === 0) return answer;
        const flipped = Buffer.from(bytes);
        const at = draws.int(0, flipped.length - 1);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << draws.int(0, 7));
        return flipped;
      }
      case 'cuts short':
        return bytes === undefined ? answer : bytes.subarray(0, draws.int(0, bytes.length));
      case 'of another key': {
        const others = [...redis.entries].filter(([other]) => other !== key && isWork(other) === isWork(key));
        const [, entry] = others.length === 0 ? [] : draws.pick(others);
        return typeof entry?.value === 'string' ? Buffer.from(entry.value, 'latin1') : answer;
      }
      case 'of before': {
        const before = redis.history.get(key);
        return before === undefined ? answer : Buffer.from(draws.pick(before), 'latin1');
      }
      case 'random bytes':
        return Buffer.from(draws.bytes(draws.int(1, 200)));
      case 'too long':
        return Buffer.alloc(TOO_LONG, 1);
      case 'another type':
        return draws.pick([7, -1, null, 'text', [1, 2]]);
      case 'nothing':
        return draws.pick([1, Buffer.alloc(0), null]);
      case 'forged': {
        const forged = this.planted(key, draws);
        return forged === undefined ? answer : Buffer.from(forged, 'latin1');
      }
    }
  }

  /** Forges a value for the key of work; undefined for other keys. */
  planted(key: string, draws: Draws): string | undefined {
    const [, name] = key.split(this.#options.scope);
    if (name?.startsWith('work:') !== true) return undefined;
    const target = this.#options.targetOf(name);
    const kind = target === undefined ? LEASE : draws.pick([LEASE, OUTCOME, OUTCOME]);
    const payload =
      kind === LEASE || target === undefined ? draws.bytes(TOKEN_BYTES + COUNT_BYTES) : this.#message(target, draws);
    return Buffer.from(concatBytes(Uint8Array.of(kind), payload)).toString('latin1');
  }

  /** A signed message that a destination refuses, unless the quorum is as small as one validator. */
  #message({ message, keys }: Target, draws: Draws): Uint8Array {
    const { scheme } = this.#options;
    const [first = 0] = keys;
    const all = keys.map((_, index) => index);
    const one = scheme.sign(first, message.bytes);
    const [signers, signature] = draws.pick<readonly [readonly number[], Uint8Array]>([
      [keys.length > 1 ? all : [0], keys.length > 1 ? one : scheme.sign(first + 1_000, message.bytes)],
      [all, scheme.signOffBy(first, message.bytes, 7)],
      [all, scheme.infinity],
      [all, draws.bytes(96)],
      [[0], one],
      [[keys.length + 3], one],
    ]);
    return encodeSignedMessage({ unsignedMessage: message, signature: { signers, signature } });
  }
}

function isWork(key: string): boolean {
  return key.includes(':work:');
}
