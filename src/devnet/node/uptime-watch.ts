import type { Clock } from '../../lib/concurrency/clock.ts';
import type { NodeID, ValidationID } from '../../warp/ids.ts';
import type { L1Validator } from '../pchain/l1-history.ts';

/** Uptime of each validator before this network began, in seconds: a day. */
const UPTIME_BEFORE = 86_400n;
/** Seconds by which each node's uptimes are below those of the previous node in the list. */
const STEP = 7n;

/** Uptimes of the L1's validators as each node has measured them: as on a real L1, the figures differ between nodes. */
export interface UptimeWatch {
  /** In seconds; undefined if there is no such validator. */
  seenBy(nodeID: NodeID, validationID: ValidationID): bigint | undefined;
}

export function createUptimeWatch(clock: Clock, validators: () => readonly L1Validator[]): UptimeWatch {
  const startedMs = clock.monotonicMs();
  return {
    seenBy(nodeID, validationID) {
      const present = validators();
      if (!present.some((validator) => validator.validationID === validationID)) return undefined;
      const place = present.findIndex((validator) => validator.nodeID === nodeID);
      const elapsed = BigInt(Math.floor((clock.monotonicMs() - startedMs) / 1_000));
      return UPTIME_BEFORE + elapsed - STEP * BigInt(Math.max(0, place));
    },
  };
}
