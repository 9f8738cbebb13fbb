import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Claim,
  FairSemaphore,
  type Permit,
  SemaphoreRejection,
} from '../../../../src/lib/concurrency/fair-semaphore.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const UNBOUNDED = Number.POSITIVE_INFINITY;

function create(options: Partial<ConstructorParameters<typeof FairSemaphore>[0]> = {}) {
  const clock = new FakeClock();
  return { clock, semaphore: new FairSemaphore({ clock, limit: 4, keyShare: UNBOUNDED, maxQueued: 100, ...options }) };
}

/** Acquires in the order given; `served` gets the names in the order of service. */
function queueAll(semaphore: FairSemaphore, claims: readonly (Claim & { readonly name: string })[]) {
  const served: string[] = [];
  const permits: Permit[] = [];
  for (const { name, ...claim } of claims) {
    void Promise.resolve(semaphore.acquire(claim)).then((permit) => {
      served.push(name);
      permits.push(permit);
    });
  }
  return { served, permits };
}

test.each([
  [1, 32],
  [2, 43],
  [3, 48],
])('a key with share %d of the free weight gets %d of 64 and leaves some for other keys', (keyShare, most) => {
  const { semaphore } = create({ limit: 64, keyShare });
  const takeAll = (key: string): number => {
    while (semaphore.tryAcquire({ key }) !== undefined);
    return semaphore.heldBy(key);
  };
  expect(takeAll('a')).toBe(most);
  for (const key of ['b', 'c', 'd']) expect(takeAll(key)).toBeGreaterThan(0);
});

test('the keys of a group together get its share', () => {
  const { semaphore } = create({ limit: 64 });
  let taken = 0;
  while (semaphore.tryAcquire({ key: `${taken}`, groups: [{ name: 'chain', share: 1 }] })) taken += 1;
  expect(taken).toBe(32);
  expect(semaphore.tryAcquire({ key: 'x', groups: [{ name: 'other', share: 1 }] })).toBeDefined();
});

test('internal claims may use the whole limit', () => {
  const { semaphore } = create({ keyShare: 1 });
  for (let count = 0; count < 4; count += 1) expect(semaphore.tryAcquire({ key: undefined })).toBeDefined();
  expect(semaphore.tryAcquire({ key: undefined })).toBeUndefined();
});

test('a claim above the limit is granted alone', () => {
  const { semaphore } = create();
  const permit = semaphore.tryAcquire({ key: 'a', weight: 9 });
  expect([semaphore.held, semaphore.tryAcquire({ key: 'b' })]).toEqual([4, undefined]);
  permit?.release();
  permit?.release(4);
  expect(semaphore.held).toBe(0);
});

test('the queue is served round robin over keys, and in order within a key', async () => {
  const { semaphore } = create({ limit: 1 });
  const claims = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => ({ name, key: name[0] }));
  const { served, permits } = queueAll(semaphore, claims);
  for (let count = 0; count < claims.length; count += 1) {
    await settle();
    permits[count]?.release();
  }
  expect(served).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('the queue is served round robin over queue groups first', async () => {
  const { semaphore } = create({ limit: 1 });
  const ofCrowd = Array.from({ length: 20 }, (_, i) => ({ name: `crowd ${i}`, key: `${i}`, queueGroup: 'flooded' }));
  const { served, permits } = queueAll(semaphore, [...ofCrowd, { name: 'other', key: 'x', queueGroup: 'quiet' }]);
  for (let count = 0; count < 3; count += 1) {
    await settle();
    permits[count]?.release();
  }
  expect(served).toEqual(['crowd 0', 'crowd 1', 'other']);
});

test('the queue passes over claims whose group has its share', async () => {
  const { semaphore } = create({ limit: 2 });
  const groups = [{ name: 'hanging', share: 1 }];
  const { served } = queueAll(semaphore, [
    { name: 'h1', key: 'a', groups },
    { name: 'h2', key: 'a', groups },
    { name: 'good', key: 'a', groups: [{ name: 'other', share: 1 }] },
  ]);
  await settle();
  expect(served).toEqual(['h1', 'good']);
});

test('the queue is not overtaken by light claims while a heavy one waits', async () => {
  const { semaphore } = create();
  const { served, permits } = queueAll(semaphore, [
    { name: 'first', key: 'a', weight: 2 },
    { name: 'heavy', key: 'b', weight: 3 },
    { name: 'light', key: 'c' },
  ]);
  await settle();
  expect(served).toEqual(['first']);
  permits[0]?.release();
  await settle();
  expect(served).toEqual(['first', 'heavy', 'light']);
});

test('the queue serves light claims when the heavy one before them is aborted', async () => {
  const { semaphore } = create();
  semaphore.tryAcquire({ key: 'a', weight: 2 });
  const giveUp = new AbortController();
  const heavy = Promise.resolve(semaphore.acquire({ key: 'b', weight: 3 }, giveUp.signal));
  const { served } = queueAll(semaphore, [{ name: 'light', key: 'c' }]);
  await settle();
  expect(served).toEqual([]);
  giveUp.abort(new Error('gone'));
  await expect(heavy).rejects.toThrow('gone');
  expect(served).toEqual(['light']);
});

test('the queue is bounded in total and for each key and group', async () => {
  const { semaphore } = create({ limit: 1, maxQueued: 5, maxQueuedPerKey: () => 3 });
  const wait = (key: string, group = key) =>
    Promise.resolve(semaphore.acquire({ key, groups: [{ name: group, share: UNBOUNDED }] })).catch(
      (error: unknown) => error,
    );
  semaphore.tryAcquire({ key: undefined });
  for (let count = 0; count < 3; count += 1) void wait('a', `${count}`);
  expect(await wait('a', 'x')).toEqual(new SemaphoreRejection('full'));
  void wait('b', '1');
  void wait('c', '1');
  expect(await wait('d', '2')).toEqual(new SemaphoreRejection('full'));
  expect(semaphore.queued).toBe(5);
  const one = create({ limit: 1, maxQueuedPerKey: () => 1 }).semaphore;
  one.tryAcquire({ key: undefined });
  const groups = [{ name: 'chain', share: 1 }];
  void Promise.resolve(one.acquire({ key: 'a', groups }));
  await expect(one.acquire({ key: 'b', groups })).rejects.toMatchObject({ message: 'full' });
});

test('a waiter is rejected after the timeout, and leaves nothing behind', async () => {
  const { semaphore, clock } = create({ limit: 1, timeoutMs: 100 });
  const permit = semaphore.tryAcquire({ key: 'a' });
  const late = Promise.resolve(semaphore.acquire({ key: 'a' }));
  late.catch(() => undefined);
  await clock.advance(100);
  await expect(late).rejects.toMatchObject({ message: 'timeout' });
  permit?.release();
  expect([semaphore.held, semaphore.queued, clock.pendingTimers]).toEqual([0, 0, 0]);
});

test('a waiter that gives up counts for its group no longer', async () => {
  const { semaphore } = create({ limit: 1, maxQueuedPerKey: () => 1 });
  semaphore.tryAcquire({ key: undefined });
  const groups = [{ name: 'chain', share: UNBOUNDED }];
  for (let count = 0; count < 3; count += 1) {
    const giveUp = new AbortController();
    const waiter = Promise.resolve(semaphore.acquire({ key: 'a', groups }, giveUp.signal));
    giveUp.abort(GONE);
    await expect(waiter).rejects.toBe(GONE);
  }
});

test('a waiter that is aborted in the tick of its grant passes the permit on', async () => {
  const { semaphore } = create({ limit: 1 });
  const first = semaphore.tryAcquire({ key: 'a' });
  const giveUp = new AbortController();
  const second = Promise.resolve(semaphore.acquire({ key: 'a' }, giveUp.signal));
  const third = Promise.resolve(semaphore.acquire({ key: 'a' }));
  first?.release();
  expect(semaphore.queued).toBe(1);
  giveUp.abort(new Error('gone'));
  await expect(second).rejects.toThrow('gone');
  expect((await third).release).toBeDefined();
  expect([semaphore.held, semaphore.queued]).toEqual([1, 0]);
});

test('the queue is served when a changing limit has grown', async () => {
  let limit = 0;
  const { semaphore } = create({ limit: () => limit });
  const { served } = queueAll(semaphore, [{ name: 'a', key: 'a' }]);
  await settle();
  expect(served).toEqual([]);
  limit = 1;
  semaphore.grantWaiting();
  await settle();
  expect(served).toEqual(['a']);
});

const step = fc.record({
  kind: fc.constantFrom('acquire', 'acquire', 'release', 'abort', 'pass time', 'change limit'),
  key: fc.constantFrom('a', 'b', 'c', undefined),
  group: fc.constantFrom('x', 'y'),
  weight: fc.integer({ min: 1, max: 6 }),
  pick: fc.nat(),
});

test('in any order of events, permits never exceed the limit, and every claim ends', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), fc.integer({ min: 1, max: 8 }), async (steps, initial) => {
      let limit = initial;
      const { semaphore, clock } = create({
        limit: () => limit,
        keyShare: 2,
        maxQueued: 10,
        maxQueuedPerKey: () => 6,
        timeoutMs: 50,
      });
      const held: (Permit & { readonly weight: number })[] = [];
      const aborts: AbortController[] = [];
      let open = 0;
      for (const { kind, key, group, weight, pick } of steps) {
        if (kind === 'acquire') {
          const abort = new AbortController();
          aborts.push(abort);
          open += 1;
          const before = semaphore.held;
          const claim = { key, weight, groups: [{ name: group, share: 2 }] };
          Promise.resolve()
            .then(() => semaphore.acquire(claim, abort.signal))
            .then(
              (permit) => held.push({ ...permit, weight }),
              (error) => expect(error instanceof SemaphoreRejection || error === GONE).toBe(true),
            )
            .finally(() => {
              open -= 1;
            });
          expect(semaphore.held).toBe(before);
        } else if (kind === 'release') held.splice(pick % Math.max(1, held.length), 1)[0]?.release();
        else if (kind === 'abort') aborts[pick % Math.max(1, aborts.length)]?.abort(GONE);
        else if (kind === 'pass time') await clock.advance(20);
        else if (semaphore.held <= weight) {
          limit = weight;
          semaphore.grantWaiting();
        }
        await settle();
        expect(semaphore.held).toBeLessThanOrEqual(limit);
        expect(semaphore.queued).toBeLessThanOrEqual(10);
        expect(semaphore.held).toBeGreaterThanOrEqual(0);
      }
      while (open > 0 || held.length > 0) {
        for (const permit of held.splice(0)) permit.release();
        await clock.advance(50);
        await settle();
      }
      expect([semaphore.held, semaphore.queued, clock.pendingTimers]).toEqual([0, 0, 0]);
      expect(semaphore.tryAcquire({ key: 'a', weight: limit })).toBeDefined();
    }),
    { numRuns: 150 },
  );
});

const GONE = new Error('gone');
