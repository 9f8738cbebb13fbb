import { hash } from 'node:crypto';
import { FAILURE_VERSION } from '../../src/aggregation/request/shared-outcome.ts';
import { ByteWriter } from '../../src/lib/encoding/byte-writer.ts';
import { concatBytes } from '../../src/lib/encoding/bytes.ts';
import { createSeal, type Seal } from '../../src/store/redis/seal.ts';
import { encodeSignedMessage } from '../../src/warp/signed-message.ts';
import type { UnsignedMessage } from '../../src/warp/unsigned-message.ts';
import type { BlsScheme } from './bls-scheme.ts';
import type { Draws } from './draws.ts';
import type { LedgerSet } from './ledger.ts';
import { simulatedIdentity } from './simulated-identity.ts';

/** Wrong answers to a replica, by relative frequency. */
export const LIES = {
  'flips a bit': 2,
  'cuts short': 1,
  'of another key': 2,
  /** What was there before: sealed, and out of date. */
  'of before': 2,
  'random bytes': 1,
  'too long': 0.1,
  'another type': 1,
  nothing: 2,
  /** A value of no replica: an invalid message, a failure, signatures of others, another set, a lease without holder. */
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
  /** The secret of the seal; undefined if there is none. */
  readonly secret: string | undefined;
  /**
   * Whether the attacker has the secret. It can then forge failures and validator sets, but its messages, signatures and leases must do
   * no harm.
   */
  readonly isTraitor: boolean;
  /** Finds the target of a value's name. */
  targetOf(name: string): Target | undefined;
  /** The validators of a subnet. */
  setOf(subnetID: string): LedgerSet;
}

const TOKEN_BYTES = 16;
/** Kinds of `distributed-single-flight.ts`. */
const [LEASE, PROVEN, UNPROVEN] = [1, 2, 3];
/** One byte more than any value that is read. */
const TOO_LONG = 1024 * 1024 + 1;
/** The extra weight of a validator in a forged set. */
const WORTH = 1_000n;

/** An attacker that reads and writes the store to mislead replicas. */
export class Liar {
  readonly #options: LiarOptions;
  readonly #bare = createSeal(undefined, '');
  readonly #wrong: Seal;
  readonly #right: Seal;

  constructor(options: LiarOptions) {
    this.#options = options;
    this.#wrong = createSeal('the secret of a liar', options.scope);
    this.#right = createSeal(options.secret, options.scope);
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
        const kind = kindOf(key);
        const others = [...redis.entries].filter(([other]) => other !== key && kindOf(other) === kind);
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
        const forged = this.planted(key, redis, draws);
        return forged === undefined ? answer : Buffer.from(forged, 'latin1');
      }
    }
  }

  /** Forges a value for a key; undefined for unknown keys. */
  planted(key: string, redis: Contents, draws: Draws): string | undefined {
    const [, name] = key.split(this.#options.scope);
    if (name === undefined) return undefined;
    const target = this.#options.targetOf(name);
    if (name.startsWith('work:')) return asText(this.#work(name, target, draws));
    if (name.startsWith('signatures:') && target !== undefined)
      return asText(this.#seal(draws, true).seal(name, this.#signatures(target, draws)));
    if (!name.includes('@')) return undefined;
    const set = this.#lopsided(/^set:(.*)@/.exec(name)?.[1] ?? '');
    const setHash = hash('sha256', set);
    redis.entries.set(`${key.slice(0, -name.length)}set:${setHash}`, {
      value: asText(set),
      endsMs: Number.POSITIVE_INFINITY,
      writtenMs: 0,
      writer: undefined,
    });
    return asText(this.#seal(draws, false).seal(name, Buffer.from(setHash, 'hex')));
  }

  /** @param isProof whether the value is checked by what it is, so that a good seal is worth nothing */
  #seal(draws: Draws, isProof: boolean): Seal {
    if (isProof && this.#options.isTraitor) return this.#right;
    return draws.chance(0.5) ? this.#wrong : this.#bare;
  }

  #work(name: string, target: Target | undefined, draws: Draws): Uint8Array {
    const kind = target === undefined ? LEASE : draws.pick([LEASE, PROVEN, PROVEN, UNPROVEN, UNPROVEN]);
    const token = draws.bytes(TOKEN_BYTES);
    const payload =
      kind === LEASE ? draws.bytes(4) : kind === UNPROVEN ? failure() : this.#message(target as Target, draws);
    const body = concatBytes(Uint8Array.of(kind as number), payload);
    const sealedName = `${name} ${Buffer.from(token).toString('hex')}`;
    return concatBytes(token, this.#seal(draws, kind !== UNPROVEN).seal(sealedName, body));
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

  /** A set in which one validator has nearly all the weight, as `shared-validator-sets.ts` writes sets. */
  #lopsided(subnetID: string): Uint8Array {
    const { scheme, setOf } = this.#options;
    const set = setOf(subnetID);
    const writer = new ByteWriter().u32(set.length);
    for (const [index, { number, key, weight }] of set.entries()) {
      const { nodeID } = simulatedIdentity(number);
      writer.lengthPrefixed(new TextEncoder().encode(nodeID)).u64(index === 0 ? WORTH * weight : weight);
      writer.u8(key === undefined ? 0 : 1);
      if (key !== undefined) writer.bytes(scheme.publicKey(key));
    }
    return writer.finish();
  }

  #signatures({ message, keys }: Target, draws: Draws): Uint8Array {
    const { scheme } = this.#options;
    return concatBytes(
      ...keys.flatMap((key) => [
        scheme.publicKey(key),
        draws.pick([
          scheme.sign(key + 1_000, message.bytes),
          scheme.signOffBy(key, message.bytes, 5),
          scheme.infinity,
          draws.bytes(96),
        ]),
      ]),
    );
  }
}

function kindOf(key: string): string | undefined {
  return /(work|signatures|set):/.exec(key)?.[1];
}

/** Good until long after the end of the world. */
function failure(): Uint8Array {
  const connectedWeight = { bigint: '99999999999999' };
  const failed = { version: FAILURE_VERSION, code: 'signing_refused', message: 'all is lost', connectedWeight };
  return concatBytes(new ByteWriter().u64(2n ** 62n).finish(), Buffer.from(JSON.stringify(failed)));
}

function asText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}
