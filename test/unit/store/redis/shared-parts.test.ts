import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createMemorySignatureStore } from '../../../../src/store/local/signature-store.ts';
import { createSharedStoreParts } from '../../../../src/store/redis/shared-parts.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { createStoreInMemory } from './store-in-memory.ts';

const SIGNER = 'ab'.repeat(48);
const signed = (byte: number) => new Map([[SIGNER, new Uint8Array(96).fill(byte)]]);

/** Replicas of networks whose local stores are empty. */
function start() {
  const clock = new FakeClock();
  const { store, entries } = createStoreInMemory(clock);
  const open = (networkID: number) => {
    const parts = createSharedStoreParts({
      store,
      networkID,
      clock,
      networkName: 'local',
      secret: 'the secret of the replicas',
      logger: createLogLines().logger,
      metrics: createMetrics(new Registry()),
    });
    return parts.signatures(createMemorySignatureStore({ clock, maxSignatures: 10, maxPerSigner: 10 }));
  };
  return { entries, open };
}

test('networks with the same name and different IDs have separate values', async () => {
  const { entries, open } = start();
  for (const networkID of [12_345, 1_337]) await open(networkID).putMany('m', signed(networkID % 100));
  await settle();
  expect(entries.size).toBe(2);
  for (const networkID of [12_345, 1_337]) {
    expect(await open(networkID).getMany('m', [SIGNER])).toEqual(signed(networkID % 100));
  }
});

test('a sealed value copied to another network is rejected', async () => {
  const { entries, open } = start();
  await open(12_345).putMany('m', signed(1));
  await settle();
  const [[key, value] = expect.fail('nothing was written')] = entries;
  entries.set(key.replace('12345', '1337'), value);
  expect(entries.size).toBe(2);
  expect(await open(1_337).getMany('m', [SIGNER])).toEqual(new Map());
  expect(await open(12_345).getMany('m', [SIGNER])).toEqual(signed(1));
});
