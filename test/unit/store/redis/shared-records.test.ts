import { expect, test } from 'vitest';
import { createSharedRecords, type SharedRecords } from '../../../../src/store/redis/shared-records.ts';
import type { SharedStore } from '../../../../src/store/redis/shared-store.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createStoreInMemory } from './store-in-memory.ts';

const [FAILED, SIGNED] = ['v3:requests:failed', 'v3:requests:signed'];
const LABEL = { id: 'an-id', client: 'key:a' };
const withMissing = (...missing: readonly unknown[]) => ({ details: { missing, missingOmitted: 0 } });

function open() {
  const clock = new FakeClock();
  const inMemory = createStoreInMemory(clock);
  const opened = { store: inMemory.store, secret: 'the secret of the replicas' };
  const written = (key: string) => inMemory.entries.get(key)?.value as readonly string[];
  return { ...inMemory, clock, written, records: createSharedRecords(opened, clock) as SharedRecords };
}

async function all(records: SharedRecords): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const page of records.pages('failed')) values.push(...page);
  return values;
}

test('a flood of records is written in part: those of a burst, then some a second', async () => {
  const { clock, redis, records, written } = open();
  for (let second = 0; second < 3; second += 1) {
    for (let index = 0; index < 2_000; index += 1) records.add('signed', LABEL, () => ({}));
    await clock.advance(1_000);
  }
  expect(redis.commands).toBeGreaterThanOrEqual(1_000);
  expect(redis.commands).toBeLessThanOrEqual(1_000 + 3 * 20);
  expect(written(SIGNED)).toHaveLength(1_000);
});

test('a record that is too long is shared without its lightest missing validators', async () => {
  const { clock, written, records } = open();
  const missing = Array.from({ length: 32 }, (_, index) => ({ index, text: 'é'.repeat(400) }));
  records.add('failed', LABEL, () => ({ details: { missing, missingOmitted: 3 } }));
  await clock.advance(100);
  expect(written(FAILED)[0]?.length).toBeLessThanOrEqual(8 * 1024);
  expect(await records.find('failed', LABEL)).toEqual({
    details: { missing: missing.slice(0, 8), missingOmitted: 27 },
  });
});

test('a record whose other details are too long is shared without them', async () => {
  const { clock, records } = open();
  const outcomes = { refused: { reasons: Array(8).fill({ text: '\u0001'.repeat(200) }) } };
  records.add('failed', LABEL, () => ({ id: 'a', details: { missing: [1], missingOmitted: 0, outcomes } }));
  await clock.advance(100);
  expect(await records.find('failed', LABEL)).toEqual({ id: 'a' });
});

test('a record with details of another form is shared with them, unless they are too long', async () => {
  const { clock, records } = open();
  const short = { id: 'a', details: { messages: [1] } };
  records.add('failed', LABEL, () => short);
  records.add('failed', LABEL, () => ({ id: 'b', details: { messages: ['x'.repeat(8 * 1024)] } }));
  await clock.advance(100);
  expect(await all(records)).toEqual([{ id: 'b' }, short]);
});

test('more records than a page has are all found, the newest first', async () => {
  const { clock, records } = open();
  const newestFirst = Array.from({ length: 120 }, (_, index) => withMissing(120 - index));
  for (const record of newestFirst.toReversed()) records.add('failed', LABEL, () => record);
  await clock.advance(1_000);
  expect(await all(records)).toEqual(newestFirst);
});

test('a record is found by the ID and the client of its request', async () => {
  const { clock, records } = open();
  const add = (id: string, client: string) => records.add('failed', { id, client }, () => withMissing(id, client));
  add('a', 'key:b');
  add('a', 'key:bc');
  add('{"id":"a"}', 'key:b');
  add('xa', 'key:b');
  await clock.advance(100);
  const found = (id: string, client?: string) => records.find('failed', { id, ...(client && { client }) });
  expect(await found('a', 'key:b')).toEqual(withMissing('a', 'key:b'));
  expect(await found('a')).toEqual(withMissing('a', 'key:bc'));
  expect(await found('{"id":"a"}')).toEqual(withMissing('{"id":"a"}', 'key:b'));
  for (const [id, client] of [
    ['a', 'key:'],
    ['', 'key:b'],
    ['b', 'key:b'],
  ] as const)
    expect(await found(id, client)).toBeUndefined();
});

test('values that are cut, changed, of another list or no JSON are left out', async () => {
  const { clock, entries, written, records } = open();
  records.add('failed', LABEL, () => withMissing(1));
  records.add('signed', LABEL, () => withMissing(2));
  await clock.advance(100);
  const [[good = ''], [ofOther = '']] = [written(FAILED), written(SIGNED)];
  const changed = `${good.slice(0, 20)}\0${good.slice(21)}`;
  const value = [good, ofOther, good.slice(0, 10), good.slice(0, -1), changed, '', 'x'.repeat(10_000)];
  entries.set(FAILED, { ...entries.get(FAILED)!, value });
  expect(await all(records)).toEqual([withMissing(1)]);
});

test('records beyond the bounds of a record, of a page and of time are left out', async () => {
  const { clock, store, entries, records } = open();
  records.add('failed', LABEL, () => ({ ...withMissing(), text: 'x'.repeat(9_000) }));
  records.add('failed', LABEL, () => withMissing(1));
  await clock.advance(100);
  expect(await all(records)).toEqual([withMissing(1)]);
  const lying: SharedStore = {
    ...store,
    ask: async (command) => Array(51).fill(((await store.ask(command)) as unknown[])[0]) as never,
  };
  const lied = createSharedRecords({ store: lying, secret: 'the secret of the replicas' }, clock) as SharedRecords;
  expect(await all(lied)).toEqual([]);
  await clock.advance(3_600_000);
  expect(await all(records)).toEqual([]);
  expect(entries.size).toBe(0);
});

test('nothing is shared without a secret, and nothing is read from a store that is away', async () => {
  expect(createSharedRecords({ store: {} as SharedStore, secret: undefined }, new FakeClock())).toBeUndefined();
  const { clock, state, records } = open();
  records.add('failed', LABEL, () => ({}));
  await clock.advance(100);
  state.isAway = true;
  expect(await all(records)).toEqual([]);
  expect(await records.find('failed', LABEL)).toBeUndefined();
});
