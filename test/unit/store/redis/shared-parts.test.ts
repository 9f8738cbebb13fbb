import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createMemorySignatureStore } from '../../../../src/store/local/signature-store.ts';
import { createSharedStoreParts } from '../../../../src/store/redis/shared-parts.ts';
import type { SharedStore } from '../../../../src/store/redis/shared-store.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';

const SIGNER = 'ab'.repeat(48);
const signature = (byte: number) => new Uint8Array(96).fill(byte);

/** A Redis that reads and writes values. */
function createRedis() {
  const entries = new Map<string, Uint8Array>();
  const store: SharedStore = {
    ask: (command) =>
      command({
        async run(script, key, [value]) {
          if (!script.includes("'SET'")) return entries.get(key) ?? new Uint8Array();
          entries.set(key, value as Uint8Array);
          return 1;
        },
      }),
    [Symbol.dispose]: () => undefined,
  };
  return { entries, store };
}

/** Opens the signatures of a replica whose local store is empty. */
function openReplica(store: SharedStore, networkID: number) {
  const clock = new FakeClock();
  const parts = createSharedStoreParts({
    ...{ store, networkID, clock, networkName: 'local', secret: 'the secret of the replicas' },
    ...{ logger: createLogLines().logger, metrics: createMetrics(new Registry()) },
  });
  return parts.signatures(createMemorySignatureStore({ clock, maxSignatures: 10, maxPerSigner: 10 }));
}

test('networks with the same name and different IDs have separate values', async () => {
  const { entries, store } = createRedis();
  for (const networkID of [12_345, 1_337]) {
    await openReplica(store, networkID).putMany('m', new Map([[SIGNER, signature(networkID % 100)]]));
    await settle();
  }
  expect(entries.size).toBe(2);
  for (const networkID of [12_345, 1_337]) {
    const found = await openReplica(store, networkID).getMany('m', [SIGNER]);
    expect(found).toEqual(new Map([[SIGNER, signature(networkID % 100)]]));
  }
});

test('a sealed value copied to another network is rejected', async () => {
  const { entries, store } = createRedis();
  await openReplica(store, 12_345).putMany('m', new Map([[SIGNER, signature(1)]]));
  await settle();
  const [[key, value] = expect.fail('nothing was written')] = entries;
  const otherKey = key.replace('12345', '1337');
  expect(otherKey).not.toBe(key);
  entries.set(otherKey, value);
  expect(await openReplica(store, 1_337).getMany('m', [SIGNER])).toEqual(new Map());
  expect(await openReplica(store, 12_345).getMany('m', [SIGNER])).toEqual(new Map([[SIGNER, signature(1)]]));
});
