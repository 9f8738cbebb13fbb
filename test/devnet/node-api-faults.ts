import { Readable } from 'node:stream';
import type { DevnetApi } from '../../src/devnet/devnet.ts';
import type { NetworkModel } from '../../src/devnet/network-model.ts';
import type { NodeApiHooks } from '../../src/devnet/node/node-api-server.ts';
import { type Clock, sleep, systemClock } from '../../src/lib/concurrency/clock.ts';
import type { Validator } from '../../src/validators/validator.ts';

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
/** The body is never read to its end; this bounds it for a client that does not stop reading. */
const HUGE_BYTES = 1024 * 1024 * 1024;
const HUGE_CHUNK = Buffer.alloc(64 * 1024, '1');
/** Backwards, heights stop above the L1's conversion. */
const LOWEST_HEIGHT = 120n;

/** Has an API act so from now on. */
export function setApiBehaviour(api: DevnetApi, behaviour: ApiBehaviour, clock: Clock = systemClock): void {
  api.setHooks({ see: seenAs(behaviour), respond: respondAs(behaviour, clock) });
}

/** The network as an API with this behaviour tells of it. */
function seenAs(behaviour: ApiBehaviour): (model: NetworkModel) => NetworkModel {
  let told = 0n;
  let sets = 0;
  const lowered = (height: bigint): bigint => {
    if (behaviour.kind === 'behind') return height - BigInt(behaviour.blocks);
    if (behaviour.kind !== 'backwards') return height;
    told += 1n;
    return height - told > LOWEST_HEIGHT ? height - told : LOWEST_HEIGHT;
  };
  return (model) => ({
    ...model,
    // Only new answers go backwards, because a client would notice a change of an earlier one.
    height: () => (behaviour.kind === 'backwards' ? model.height() : lowered(model.height())),
    proposedHeight: () => lowered(model.proposedHeight()),
    validatorsAt(subnetID, height) {
      const { kind } = behaviour;
      const validators = model.validatorsAt(subnetID, height);
      sets += 1;
      return kind === 'other set' || (kind === 'changing set' && sets % 2 === 0) ? falseSet(validators) : validators;
    },
  });
}

function respondAs(behaviour: ApiBehaviour, clock: Clock): NonNullable<NodeApiHooks['respond']> {
  return async (respondAsUsual, signal) => {
    if (behaviour.kind === 'slow') await sleep(clock, behaviour.delayMs, signal);
    if (behaviour.kind === 'down') return undefined;
    if (behaviour.kind === 'huge') return endlessAnswer();
    return behaviour.kind === 'wrong types' ? withWrongTypes(respondAsUsual()) : respondAsUsual();
  };
}

function falseSet([first, ...others]: readonly Validator[]): readonly Validator[] {
  return first === undefined ? [] : [{ ...first, weight: first.weight * LIE_FACTOR }, ...others];
}

function endlessAnswer(): Readable {
  let left = HUGE_BYTES;
  return new Readable({
    read() {
      left -= HUGE_CHUNK.length;
      this.push(left > 0 ? HUGE_CHUNK : null);
    },
  });
}

/** Replaces everything but the envelope of JSON-RPC. */
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
