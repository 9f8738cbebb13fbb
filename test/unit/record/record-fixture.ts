import { Registry } from 'prom-client';
import type { ValidatorAnswer } from '../../../src/aggregation/collection/validator-answers.ts';
import { openRecordStore } from '../../../src/record/record-store.ts';
import { openSigningRecord, type SigningRecord } from '../../../src/record/signing-record.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createWarpSet, type WarpSet } from '../../../src/validators/warp-set.ts';
import { idFromBytes, type NodeID, nodeIDFromBytes, type SubnetID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createModelSigner } from '../bls/backends/model-backend.ts';

export const SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(3), 'subnet');
export const OTHER = idFromBytes<SubnetID>(new Uint8Array(32).fill(4), 'subnet');
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export function nodeOf(number: number): NodeID {
  return nodeIDFromBytes(Uint8Array.from({ length: 20 }, (_, i) => (i === 19 ? number : 0)));
}

/** Creates a set whose validators have these weights, and the nodes and keys of their places from 1 on. */
export function setOf(...weights: readonly bigint[]): WarpSet {
  return createWarpSet(
    weights.map((weight, place) => ({
      nodeID: nodeOf(place + 1),
      publicKey: createModelSigner(BigInt(place + 2)).publicKey,
      weight,
    })),
  );
}

/** The outcome of each validator of the set by its node; without one it was not asked. */
export type Outcomes = Readonly<Record<number, ValidatorAnswer['outcome']>>;

/** A wall clock that can be set, or that went on while the machine slept. */
class JumpingClock extends FakeClock {
  #jumpedMs = 0;

  jump(ms: number): void {
    this.#jumpedMs += ms;
  }

  override now(): number {
    return super.now() + this.#jumpedMs;
  }
}

export function createRecordFixture(directory?: string, startUnixMs?: number) {
  const clock = new JumpingClock(startUnixMs);
  const registry = new Registry();
  const sets = new Map([[SUBNET, setOf(40n, 30n, 20n, 10n)]]);
  const connected = new Set([1, 2, 3, 4].map(nodeOf));
  const warnings: string[] = [];
  const open = (): SigningRecord & { closeAll(): Promise<void> } => {
    const store = openRecordStore({ directory, networkID: 1_337, name: 'test' });
    const record = openSigningRecord({
      store,
      isPersistent: directory !== undefined,
      sets: () => [...sets],
      setOf: (subnetID) => sets.get(subnetID),
      isConnected: (nodeID) => connected.has(nodeID),
      clock,
      warn: (_kind, _fields, message) => warnings.push(message),
      metrics: createMetrics(registry),
    });
    return {
      ...record,
      async closeAll() {
        await record[Symbol.asyncDispose]();
        store[Symbol.dispose]();
      },
    };
  };
  return { clock, registry, sets, connected, warnings, open };
}

/** Reports a collection of the set of {@link SUBNET} that ended signed. */
export function sign(
  record: SigningRecord,
  outcomes: Outcomes,
  { tookMs = 20, of = setOf(40n, 30n, 20n, 10n), subnetID = SUBNET } = {},
) {
  record.onSigned(subnetID, () =>
    of.validators.flatMap((validator): readonly ValidatorAnswer[] => {
      const number = [1, 2, 3, 4, 5, 6].find((one) => validator.nodeIDs.includes(nodeOf(one))) ?? 0;
      const outcome = outcomes[number];
      return outcome === undefined ? [] : [{ validator, outcome, tookMs }];
    }),
  );
}
