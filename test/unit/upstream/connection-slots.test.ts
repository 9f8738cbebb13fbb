import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConnectionSlots, MAX_CONNECTIONS } from '../../../src/upstream/connection-slots.ts';

const OF_SUBJECT = 48;
const FOR_EACH_FREE = 3;
const WAITING = 1_024;
const WAITING_OF_ONE = 768;
const CLIENT = 'client';
const never = new Promise<never>(() => undefined);

/** With so many subjects that none of them comes near its share. */
function fill(slots: ConnectionSlots): void {
  for (let index = 0; index < MAX_CONNECTIONS; index += 1) void slots.take(`subject ${index}`, CLIENT, never);
}

test('gives as many connections at once as there are', () => {
  const slots = new ConnectionSlots();
  for (let index = 0; index < MAX_CONNECTIONS; index += 1) {
    expect(slots.take(`subject ${index}`, CLIENT, never)).toBeUndefined();
  }
  expect(slots.take('subject 64', CLIENT, never)).toBeInstanceOf(Promise);
});

test('leaves connections to others beside two subjects, and beside three, of which each takes all that it can have', () => {
  const slots = new ConnectionSlots();
  const takeAll = (subject: string): number => {
    while (slots.take(subject, CLIENT, never) === undefined);
    return slots.heldBy(subject);
  };
  expect(['a', 'b', 'c', 'd'].map(takeAll)).toEqual([OF_SUBJECT, 12, 3, 1]);
  expect(slots.take('e', CLIENT, never)).toBeInstanceOf(Promise);
});

test('of two that are equally busy, the one that came first gives connections up to the other', () => {
  const slots = new ConnectionSlots();
  for (const subject of ['a', 'b']) {
    for (let index = 0; index < 100; index += 1) void slots.take(subject, CLIENT, never);
  }
  for (let index = 0; index < 30; index += 1) slots.release('a');
  expect([slots.heldBy('a'), slots.heldBy('b')]).toEqual([28, 27]);
});

test('serves those who wait in the order of their coming, but nobody beyond the share of a subject', async () => {
  const slots = new ConnectionSlots();
  for (let index = 0; index < OF_SUBJECT; index += 1) void slots.take('a', CLIENT, never);
  for (let index = OF_SUBJECT; index < MAX_CONNECTIONS; index += 1) void slots.take(`b ${index}`, CLIENT, never);
  const order: string[] = [];
  const wait = (name: string, subject: string) => slots.take(subject, CLIENT, never)?.then(() => order.push(name));
  const waiting = [wait('a 1', 'a'), wait('c 1', 'c'), wait('a 2', 'a'), wait('c 2', 'c')];
  slots.release('b 48');
  await waiting[1];
  slots.release('b 49');
  await waiting[3];
  // It has three for each that is free.
  for (let index = 0; index < 13; index += 1) slots.release('a');
  await waiting[0];
  slots.release('a');
  await waiting[2];
  expect(order).toEqual(['c 1', 'c 2', 'a 1', 'a 2']);
});

test('is full for a subject, and for a client, before it is full for all', () => {
  const slots = new ConnectionSlots();
  expect(slots.isFull('a', 'first')).toBe(false);
  fill(slots);
  for (let index = 0; index < WAITING_OF_ONE; index += 1) void slots.take('a', `client ${index}`, never);
  expect([slots.isFull('a', 'first'), slots.isFull('b', 'first')]).toEqual([true, false]);
  for (let index = WAITING_OF_ONE; index < WAITING; index += 1) void slots.take('b', CLIENT, never);
  expect([slots.isFull('b', 'first'), slots.isFull('c', 'first')]).toEqual([true, true]);

  const ofOne = new ConnectionSlots();
  fill(ofOne);
  for (let index = 0; index < WAITING_OF_ONE; index += 1) void ofOne.take(`chain ${index}`, 'first', never);
  expect([ofOne.isFull('a', 'first'), ofOne.isFull('a', 'second')]).toEqual([true, false]);
});

test('serves one client after the other, however many of theirs wait', async () => {
  const slots = new ConnectionSlots();
  fill(slots);
  const order: string[] = [];
  const waiting = ['a', 'a', 'a', 'b', 'c', 'b'].map(async (client, index) => {
    await slots.take(`chain ${index}`, client, never);
    order.push(client);
  });
  for (let index = 0; index < waiting.length; index += 1) slots.release(`subject ${index}`);
  await Promise.all(waiting);
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
});

test('one that is given up while it waits takes no turn, and in the moment of its turn passes it on', async () => {
  const slots = new ConnectionSlots();
  fill(slots);
  const gone = new Error('gone');
  const early = Promise.withResolvers<never>();
  const late = Promise.withResolvers<never>();
  const first = slots.take('a', CLIENT, early.promise);
  const second = slots.take('a', CLIENT, late.promise);
  const third = slots.take('a', CLIENT, never);
  early.reject(gone);
  await expect(first).rejects.toBe(gone);
  // The rejection is there before the turn is heard of.
  late.reject(gone);
  await late.promise.catch(() => undefined);
  slots.release('subject 0');
  await expect(second).rejects.toBe(gone);
  await third;
  expect(slots.heldBy('a')).toBe(1);
});

test('streams are 48 at most, half of them of one client', () => {
  const slots = new ConnectionSlots();
  for (let index = 0; index < 24; index += 1) expect(slots.takeStream('a')).toBe(true);
  expect(slots.takeStream('a')).toBe(false);
  for (let index = 0; index < 24; index += 1) expect(slots.takeStream(index % 2 === 0 ? 'b' : 'c')).toBe(true);
  expect(slots.takeStream('b')).toBe(false);
  slots.returnStream('a');
  expect([slots.takeStream('b'), slots.takeStream('a')]).toEqual([true, false]);
});

test('whoever comes and goes, connections are neither lost nor made up', async () => {
  const step = fc.record({
    kind: fc.constantFrom('take', 'release', 'cancel'),
    subject: fc.constantFrom('a', 'b', 'c'),
    client: fc.constantFrom('first', 'second'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 100, maxLength: 400 }), async (steps) => {
      const slots = new ConnectionSlots();
      const held: string[] = [];
      const waiting: { readonly subject: string; readonly cancel: () => void }[] = [];
      for (const { kind, subject, client } of steps) {
        if (kind === 'take') {
          const { promise, reject } = Promise.withResolvers<never>();
          const slot = slots.take(subject, client, promise);
          if (slot === undefined) {
            held.push(subject);
            continue;
          }
          const waiter = { subject, cancel: () => reject(new Error('gone')) };
          waiting.push(waiter);
          const leave = () => waiting.splice(waiting.indexOf(waiter), 1);
          slot.then(
            () => (leave(), held.push(subject)),
            () => leave(),
          );
        } else if (kind === 'release') {
          const index = held.indexOf(subject);
          if (index >= 0) slots.release(held.splice(index, 1)[0] ?? '');
        } else {
          waiting.find((waiter) => waiter.subject === subject)?.cancel();
        }
        for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
        const counts = ['a', 'b', 'c'].map((each) => held.filter((other) => other === each).length);
        expect(['a', 'b', 'c'].map((each) => slots.heldBy(each))).toEqual(counts);
        expect(held.length).toBeLessThanOrEqual(MAX_CONNECTIONS);
        expect(Math.max(...counts)).toBeLessThanOrEqual(OF_SUBJECT);
        // Nobody waits while there is a connection for it.
        const free = MAX_CONNECTIONS - held.length;
        for (const { subject: waits } of waiting) {
          expect(slots.heldBy(waits)).toBeGreaterThanOrEqual(FOR_EACH_FREE * free);
        }
      }
    }),
    { numRuns: 20 },
  );
});
