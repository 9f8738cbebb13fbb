import { expect, test } from 'vitest';
import { createSharedRecords, type SharedRecords } from '../../../../src/store/redis/shared-records.ts';
import type { SharedStore } from '../../../../src/store/redis/shared-store.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const SECRET = 'the secret of the replicas';

/** A store that keeps what is written, and gives it back in one page. */
function open(secret: string | undefined = SECRET, isAway = () => false) {
  const clock = new FakeClock();
  const written: Uint8Array[] = [];
  const store: SharedStore = {
    async ask(command) {
      if (isAway()) return undefined;
      return command({
        async run(script, _key, args) {
          if (script.includes('LPUSH')) written.unshift(args[0] as Uint8Array);
          if (script.includes('ipairs')) return written[0];
          return script.startsWith('return') ? written.slice(Number(args[0]), Number(args[1]) + 1) : 1;
        },
      });
    },
    [Symbol.dispose]: () => undefined,
  };
  return { clock, written, records: createSharedRecords({ store, secret }, clock) as SharedRecords };
}

async function all(records: SharedRecords): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const page of records.pages('failed')) values.push(...page);
  return values;
}

test('a flood of records is written in part: those of a burst, then some a second', async () => {
  const { clock, written, records } = open();
  for (let second = 0; second < 3; second += 1) {
    for (let index = 0; index < 2_000; index += 1) records.add('signed', () => ({}));
    await clock.advance(1_000);
  }
  expect(written.length).toBeGreaterThanOrEqual(1_000);
  expect(written.length).toBeLessThanOrEqual(1_000 + 3 * 20);
});

test('a record that is too long is shared without its lightest missing validators', async () => {
  const { clock, written, records } = open();
  const missing = Array.from({ length: 32 }, (_, index) => ({ index, text: 'é'.repeat(400) }));
  records.add('failed', () => ({ missing, missingOmitted: 3 }));
  await clock.advance(100);
  expect(written[0]?.length).toBeLessThanOrEqual(8 * 1024);
  expect(await records.find('failed', [''])).toEqual({ missing: missing.slice(0, 8), missingOmitted: 27 });
});

test('values that are cut, changed, of another list or no JSON are left out', async () => {
  const { clock, written, records } = open();
  records.add('failed', () => ({ missing: [1] }));
  records.add('signed', () => ({ missing: [2] }));
  await clock.advance(100);
  const [, good = new Uint8Array()] = written;
  const changed = Uint8Array.from(good);
  changed[20] = (changed[20] ?? 0) ^ 1;
  written.push(
    good.subarray(0, 10),
    good.subarray(0, good.length - 1),
    changed,
    new Uint8Array(),
    Buffer.alloc(10_000),
  );
  expect(await all(records)).toEqual([{ missing: [1] }]);
});

test('nothing is shared without a secret, and nothing is read from a store that is away', async () => {
  expect(createSharedRecords({ store: {} as SharedStore, secret: undefined }, new FakeClock())).toBeUndefined();
  const { records } = open(SECRET, () => true);
  expect(await all(records)).toEqual([]);
  expect(await records.find('failed', [''])).toBeUndefined();
});
