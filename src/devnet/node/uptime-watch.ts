import type { Clock } from '../../lib/concurrency/clock.ts';
import type { NodeID, ValidationID } from '../../warp/ids.ts';
import type { L1Validator } from '../pchain/l1-history.ts';

/** What a validator has been up for before this network began, in seconds: a day. */
const UPTIME_BEFORE = 86_400n;
/** Seconds by which each node's uptimes are below those of the previous node in the list. */
const STEP = 7n;

/** For how long each node of the L1 has seen each validator: as on a real L1, every node has another figure. */
export class UptimeWatch {
  readonly #clock: Clock;
  readonly #validators: () => readonly L1Validator[];
  readonly #startedMs: number;
  readonly #fixed = new Map<string, bigint>();

  constructor(clock: Clock, validators: () => readonly L1Validator[]) {
    this.#clock = clock;
    this.#validators = validators;
    this.#startedMs = clock.monotonicMs();
  }

  /** In seconds; undefined where there is no such validator. */
  seenBy(nodeID: NodeID, validationID: ValidationID): bigint | undefined {
    const validators = this.#validators();
    if (!validators.some((validator) => validator.validationID === validationID)) return undefined;
    const fixed = this.#fixed.get(`${nodeID}|${validationID}`);
    if (fixed !== undefined) return fixed;
    const place = validators.findIndex((validator) => validator.nodeID === nodeID);
    const elapsed = BigInt(Math.floor((this.#clock.monotonicMs() - this.#startedMs) / 1_000));
    return UPTIME_BEFORE + elapsed - STEP * BigInt(Math.max(0, place));
  }

  /** A figure that stands still from now on, as of a validator that is offline. */
  fix(nodeID: NodeID, validationID: ValidationID, seconds: bigint): void {
    this.#fixed.set(`${nodeID}|${validationID}`, seconds);
  }
}
