import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { registerIdentity } from '../../../../src/store/redis/identity-registration.ts';
import type { SharedStore } from '../../../../src/store/redis/shared-store.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';

const OWN = 'r-1 process 1 on host';

/** A registration with the answers of a store to it; test/network/identity-registration.test.ts has a real one. */
function registrationWith(answer: unknown) {
  const asked: string[][] = [];
  const run = async (_script: string, key: string, args: readonly (string | Uint8Array)[]) => {
    asked.push([key, ...args.map(String)]);
    return typeof answer === 'string' ? Buffer.from(answer) : answer;
  };
  const store: SharedStore = { ask: (command) => command({ run }), [Symbol.dispose]: () => undefined };
  const registration = registerIdentity({
    ...{ store, nodeID: 'NodeID-a' as NodeID, replica: 'r-1', description: 'process 1 on host', lapsesMs: 15_000 },
    metrics: createMetrics(new Registry()),
  });
  return { registration, asked };
}

test.each([
  ['nobody else', 1, undefined],
  ['a store that is away', undefined, undefined],
  ['another replica', 'r-2 process 2 on other', 'process 2 on other'],
])('%s', async (_, answer, expected) => {
  const { registration, asked } = registrationWith(answer);
  expect(await registration.look()).toBe(expected);
  expect(asked).toEqual([['identity:NodeID-a', OWN, OWN, '15000', '512']]);
});

test('an invalid registration is replaced', async () => {
  const garbage = 'r-2 \n{"level":50}';
  const { registration, asked } = registrationWith(garbage);
  expect(await registration.look()).toBeUndefined();
  expect(asked.map(([, replaced]) => replaced)).toEqual([OWN, garbage]);
});
