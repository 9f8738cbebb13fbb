import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextTurn } from '../../../../src/lib/concurrency/clock.ts';
import { createMemorySignatureStore, type SignatureStore } from '../../../../src/store/local/signature-store.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const clock = new FakeClock();
const signature = (text: string): Uint8Array => new TextEncoder().encode(text.padEnd(96, '.'));

async function get(store: SignatureStore, key: string, signer: string): Promise<Uint8Array | undefined> {
  return (await store.getMany(key, [signer])).get(signer);
}

describe('createMemorySignatureStore', () => {
  test('yields to the event loop while it stores many signatures', async () => {
    const store = createMemorySignatureStore({ clock, maxSignatures: 1_000, maxPerSigner: 10 });
    const signers = Array.from({ length: 600 }, (_, index) => `${index}`);
    const put = store.putMany('m', new Map(signers.map((signer) => [signer, signature(signer)])));
    const counts: number[] = [];
    const count = async (): Promise<void> => void counts.push((await store.getMany('m', signers)).size);
    await count();
    for (let turn = 0; turn < 2; turn += 1) {
      await nextTurn(clock);
      await count();
    }
    expect(counts).toEqual([256, 512, 600]);
    await put;
  });

  test('a signature takes less than 300 bytes, and evicted ones take no memory', () => {
    // In a separate process, so that the heap contains nothing else.
    const source = (path: string): string => JSON.stringify(new URL(`../../../../src/${path}`, import.meta.url).href);
    const code = `
      const { createMemorySignatureStore } = await import(${source('store/local/signature-store.ts')});
      const { systemClock } = await import(${source('lib/concurrency/clock.ts')});
      const used = () => {
        gc();
        // Completes the sweep of array buffers that the first one started.
        gc();
        const { heapUsed, external } = process.memoryUsage();
        return heapUsed + external;
      };
      const store = createMemorySignatureStore({ clock: systemClock, maxSignatures: 50_000, maxPerSigner: 1_000 });
      const hex = (number, digits) => number.toString(16).padStart(digits, '0');
      const put = async (message, firstSigner, count = 1_000) => {
        const signers = Array.from({ length: count }, (_, index) => hex(firstSigner + index, 96));
        await store.putMany(hex(message, 64), new Map(signers.map((signer) => [signer, new Uint8Array(96)])));
      };
      await put(0, 0);
      const empty = used();
      for (let message = 1; message < 50; message += 1) await put(message, 0);
      const full = used();
      // Signatures of other messages and signers replace all of them, twice.
      for (let message = 50; message < 60_000; message += 1) await put(message, message * 1_000, 1);
      const other = used();
      for (let message = 60_000; message < 120_000; message += 1) await put(message, message * 1_000, 1);
      console.log(JSON.stringify([full - empty, used() - other].map((bytes) => bytes / 49_000)));
      await store.getMany('', []);
    `;
    const args = ['--expose-gc', '--input-type=module', '--eval', code];
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
    const [each, more] = JSON.parse(output) as [number, number];
    expect(each).toBeGreaterThan(96);
    expect(each).toBeLessThan(300);
    expect(more).toBeLessThan(150);
  });

  test('a flood of one signer evicts only its own signatures', async () => {
    const store = createMemorySignatureStore({ clock, maxSignatures: 100, maxPerSigner: 3 });
    await store.putMany('old', new Map([['quiet', signature('kept')]]));
    for (let i = 0; i < 1_000; i += 1) await store.putMany(`m${i}`, new Map([['loud', signature(`${i}`)]]));
    expect(await get(store, 'old', 'quiet')).toEqual(signature('kept'));
    expect(await get(store, 'm996', 'loud')).toBeUndefined();
    expect(await get(store, 'm997', 'loud')).toEqual(signature('997'));
  });

  test('evicts the least recently used message first', async () => {
    const store = createMemorySignatureStore({ clock, maxSignatures: 3, maxPerSigner: 3 });
    for (const key of ['m1', 'm2', 'm3']) await store.putMany(key, new Map([['a', signature(key)]]));
    await get(store, 'm1', 'a');
    await store.putMany('m4', new Map([['b', signature('m4')]]));
    expect(await get(store, 'm2', 'a')).toBeUndefined();
    for (const key of ['m1', 'm3']) expect(await get(store, key, 'a')).toEqual(signature(key));
  });

  test('has the latest values, within its limits, after any steps', async () => {
    const step = fc.record({
      kind: fc.constantFrom('put', 'put', 'get', 'delete'),
      key: fc.constantFrom('m1', 'm2', 'm3', 'm4'),
      signer: fc.constantFrom('a', 'b', 'c'),
    });
    const limits = fc.record({
      maxSignatures: fc.integer({ min: 1, max: 8 }),
      maxPerSigner: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 40 }), async (limits, steps) => {
        const store = createMemorySignatureStore({ clock, ...limits });
        const latest = new Map<string, Uint8Array | undefined>();
        for (const [number, { kind, key, signer }] of steps.entries()) {
          const value = signature(`${number}`);
          if (kind === 'put') await store.putMany(key, new Map([[signer, value]]));
          if (kind === 'delete') await store.delete(key, signer);
          if (kind !== 'get') latest.set(key + signer, kind === 'put' ? Uint8Array.from(value) : undefined);
          value.fill(0);
          const found = await get(store, key, signer);
          if (kind !== 'get') expect(found).toEqual(latest.get(key + signer));
          const counts = { a: 0, b: 0, c: 0 };
          for (const each of ['m1', 'm2', 'm3', 'm4']) {
            for (const [name, kept] of await store.getMany(each, ['a', 'b', 'c'])) {
              counts[name as 'a'] += 1;
              expect(kept).toEqual(latest.get(each + name));
            }
          }
          expect(Math.max(...Object.values(counts))).toBeLessThanOrEqual(limits.maxPerSigner);
          expect(counts.a + counts.b + counts.c).toBeLessThanOrEqual(limits.maxSignatures);
        }
      }),
      { numRuns: 300 },
    );
  });
});
