import { Readable } from 'node:stream';
import { type Clock, sleep } from '../primitives/clock.ts';
import type { Validator } from '../validators/validator.ts';
import type { NetworkModel } from './network-model.ts';

/**
 * How the API of a node acts. All but `normal` are faults:
 *
 * - `down`: breaks every connection, without an answer.
 * - `slow`: answers after a delay.
 * - `wrong types`: has numbers where there should be texts, and the reverse.
 * - `huge`: answers without end.
 * - `behind`: so many blocks below the others.
 * - `backwards`: each height that it tells is lower than the one before.
 * - `other set`: lies that the first validator of each set has nearly all of the weight.
 * - `changing set`: does so every second time.
 */
export type ApiBehaviour =
  | { readonly kind: 'normal' | 'down' | 'wrong types' | 'huge' | 'backwards' | 'other set' | 'changing set' }
  | { readonly kind: 'slow'; readonly delayMs: number }
  | { readonly kind: 'behind'; readonly blocks: number };

const LIE_FACTOR = 1_000n;
/** It is never read to its end: this only ends it where nobody stops reading. */
const HUGE_BYTES = 1024 * 1024 * 1024;
const HUGE_CHUNK = Buffer.alloc(64 * 1024, '1');
/** Backwards, heights stop above the L1's conversion. */
const LOWEST_HEIGHT = 120n;

/** The network as an API with this behaviour tells of it. */
export function modelAs(model: NetworkModel, behaviour: () => ApiBehaviour): NetworkModel {
  let told = 0n;
  let sets = 0;
  const lowered = (height: bigint): bigint => {
    const now = behaviour();
    if (now.kind === 'behind') return height - BigInt(now.blocks);
    if (now.kind !== 'backwards') return height;
    told += 1n;
    return height - told > LOWEST_HEIGHT ? height - told : LOWEST_HEIGHT;
  };
  return {
    ...model,
    // A lie about what was asked for before would be noticed: only what is told now goes backwards.
    height: () => (behaviour().kind === 'backwards' ? model.height() : lowered(model.height())),
    proposedHeight: () => lowered(model.proposedHeight()),
    validatorsAt(subnetID, height) {
      const { kind } = behaviour();
      const validators = model.validatorsAt(subnetID, height);
      sets += 1;
      return kind === 'other set' || (kind === 'changing set' && sets % 2 === 0) ? falseSet(validators) : validators;
    },
  };
}

function falseSet([first, ...others]: readonly Validator[]): readonly Validator[] {
  return first === undefined ? [] : [{ ...first, weight: first.weight * LIE_FACTOR }, ...others];
}

/** Waits as long as the API is slow. Says whether it answers at all. */
export async function delayAs(behaviour: ApiBehaviour, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (behaviour.kind === 'slow') await sleep(clock, behaviour.delayMs, signal);
  return behaviour.kind !== 'down';
}

/** What is said in place of a result. */
export function answerAs(behaviour: ApiBehaviour, answer: unknown): unknown {
  return behaviour.kind === 'wrong types' ? withWrongTypes(answer) : answer;
}

export function endlessAnswer(): Readable {
  let left = HUGE_BYTES;
  return new Readable({
    read() {
      left -= HUGE_CHUNK.length;
      this.push(left > 0 ? HUGE_CHUNK : null);
    },
  });
}

/** All but what makes it an answer of JSON-RPC at all. */
function withWrongTypes(answer: unknown): unknown {
  const { result, ...rest } = answer as { result?: unknown };
  return { ...rest, ...(result !== undefined && { result: swapped(result) }) };
}

function swapped(value: unknown): unknown {
  if (typeof value === 'string') return value.length;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(swapped);
  if (value === null || typeof value !== 'object') return [];
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, swapped(item)]));
}
