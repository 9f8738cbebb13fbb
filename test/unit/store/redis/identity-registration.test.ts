import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { registerIdentity } from '../../../../src/store/redis/identity-registration.ts';
import type { Redis, SharedStore } from '../../../../src/store/redis/shared-store.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';

/** The scripts are tested on Redis, in test/network/identity-registration.test.ts. */
function registrationWith(answer: unknown) {
  const asked: unknown[] = [];
  const redis = {
    async run(_script: string, key: string, args: readonly unknown[]) {
      asked.push({ key, args });
      return typeof answer === 'string' ? Buffer.from(answer) : answer;
    },
  };
  const store = { ask: async (command: (client: Redis) => unknown) => command(redis as unknown as Redis) };
  const registration = registerIdentity({
    store: store as unknown as SharedStore,
    nodeID: 'NodeID-a' as NodeID,
    replica: 'r-1',
    description: 'process 1 on host',
    lapsesMs: 15_000,
    metrics: createMetrics(new Registry()),
  });
  return { registration, asked };
}

test.each([
  ['nobody else', null, undefined],
  ['a store that is away', undefined, undefined],
  ['another replica', 'r-2 process 2 on other', 'process 2 on other'],
  ['nonsense', 7, undefined],
])('%s', async (_, answer, expected) => {
  const { registration, asked } = registrationWith(answer);
  expect(await registration.look()).toBe(expected);
  expect(asked).toEqual([{ key: 'identity:NodeID-a', args: ['r-1 process 1 on host', '15000', '512', ''] }]);
});

test('an invalid registration is replaced', async () => {
  const garbage = 'r-2 \n{"level":50}';
  const { registration, asked } = registrationWith(garbage);
  expect(await registration.look()).toBeUndefined();
  const args = ['r-1 process 1 on host', '15000', '512'];
  expect(asked).toEqual([
    { key: 'identity:NodeID-a', args: [...args, ''] },
    { key: 'identity:NodeID-a', args: [...args, Buffer.from(garbage)] },
  ]);
});
