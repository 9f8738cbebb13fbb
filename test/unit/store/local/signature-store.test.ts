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

  test('a returned signature does not change when its slot is reused', async () => {
    const store = createMemorySignatureStore({ clock, maxSignatures: 1, maxPerSigner: 1 });
    const given = signature('first');
    await store.putMany('m1', new Map([['a', given]]));
    given.fill(0);
    const found = await get(store, 'm1', 'a');
    await store.putMany('m2', new Map([['b', signature('second')]]));
    expect(found).toEqual(signature('first'));
    expect(await get(store, 'm2', 'b')).toEqual(signature('second'));
  });

  test('signatures of another length are rejected', async () => {
    const store = createMemorySignatureStore({ clock, maxSignatures: 1, maxPerSigner: 1 });
    const short = new Map([['a', new Uint8Array(95)]]);
    await expect(store.putMany('m', short)).rejects.toThrow('a signature of 95 bytes');
    await store.putMany('m', new Map([['a', signature('1')]]));
    await expect(store.putMany('m', short)).rejects.toThrow('a signature of 95 bytes');
    expect(await get(store, 'm', 'a')).toEqual(signature('1'));
  });

  test('a signature takes less than 300 bytes, and evicted ones take no memory', () => {
    // In a separate process, so that the heap contains nothing else.
    const source = (path: string): string => JSON.stringify(new URL(`../../../../src/${path}`, import.meta.url).href);
    const code = `
      const { createMemorySignatureStore } = await import(${source('store/local/signature-store.ts')});
      const { systemClock } = await import(${source('lib/concurrency/clock.ts')});
      // The least of several readings: array buffers are swept in parallel, and compiled code is flushed only after some collections.
      const used = () =>
        Math.min(
          ...Array.from({ length: 5 }, () => {
            gc();
            const { heapUsed, external } = process.memoryUsage();
            return heapUsed + external;
          }),
        );
      const store = createMemorySignatureStore({ clock: systemClock, maxSignatures: 10_000, maxPerSigner: 1_000 });
      const hex = (number, digits) => number.toString(16).padStart(digits, '0');
      const put = async (message, firstSigner, count = 1_000) => {
        const signers = Array.from({ length: count }, (_, index) => hex(firstSigner + index, 96));
        await store.putMany(hex(message, 64), new Map(signers.map((signer) => [signer, new Uint8Array(96)])));
      };
      await put(0, 0);
      const empty = used();
      for (let message = 1; message < 10; message += 1) await put(message, 0);
      const full = used();
      // Signatures of other messages and signers replace all of them, twice.
      for (let message = 10; message < 12_000; message += 1) await put(message, message * 1_000, 1);
      const other = used();
      for (let message = 12_000; message < 24_000; message += 1) await put(message, message * 1_000, 1);
      console.log(JSON.stringify([full - empty, used() - other].map((bytes) => bytes / 9_000)));
      await store.getMany('', []);
    `;
    const args = ['--expose-gc', '--input-type=module', '--eval', code];
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
    const [each, more] = JSON.parse(output) as [number, number];
    expect(each).toBeGreaterThan(96);
    expect(each).toBeLessThan(300);
    expect(more).toBeLessThan(150);
  });

  test('evicts like a bounded list in the order of use', async () => {
    interface Entry {
      readonly key: string;
      readonly signer: string;
      readonly value: string;
    }
    const key = fc.constantFrom('m1', 'm2', 'm3', 'm4');
    const signer = fc.constantFrom('a', 'b', 'c');
    const of = <Kind extends string>(weight: number, kind: Kind) =>
      ({ weight, arbitrary: fc.record({ kind: fc.constant(kind), key, signer }) }) as const;
    const step = fc.oneof(of(3, 'put'), of(2, 'get'), of(1, 'delete'));
    const limits = fc.record({
      maxSignatures: fc.integer({ min: 1, max: 8 }),
      maxPerSigner: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 40 }), async (limits, steps) => {
        const store = createMemorySignatureStore({ clock, ...limits });
        /** Least recently used first. */
        let model: Entry[] = [];
        const isSame = (a: { key: string; signer: string }, b: Entry) => a.key === b.key && a.signer === b.signer;
        for (const [number, step] of steps.entries()) {
          const known = model.find((entry) => isSame(step, entry));
          switch (step.kind) {
            case 'put': {
              model = model.filter((entry) => entry !== known);
              const ofSigner = model.filter((entry) => entry.signer === step.signer);
              if (ofSigner.length >= limits.maxPerSigner) model = model.filter((entry) => entry !== ofSigner[0]);
              if (model.length >= limits.maxSignatures) model = model.slice(1);
              model.push({ key: step.key, signer: step.signer, value: `${number}` });
              await store.putMany(step.key, new Map([[step.signer, signature(`${number}`)]]));
              break;
            }
            case 'get':
              if (known !== undefined) model = [...model.filter((entry) => entry !== known), known];
              expect(await get(store, step.key, step.signer)).toEqual(known && signature(known.value));
              break;
            case 'delete':
              model = model.filter((entry) => entry !== known);
              await store.delete(step.key, step.signer);
              break;
          }
        }
        for (const key of ['m1', 'm2', 'm3', 'm4']) {
          for (const signer of ['a', 'b', 'c']) {
            const known = model.find((entry) => isSame({ key, signer }, entry));
            expect(await get(store, key, signer)).toEqual(known && signature(known.value));
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
