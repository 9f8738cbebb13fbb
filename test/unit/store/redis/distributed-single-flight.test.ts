import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { sleep } from '../../../../src/lib/concurrency/clock.ts';
import {
  createDistributedSingleFlight,
  LEASE_MS,
  type SingleFlightTask,
} from '../../../../src/store/redis/distributed-single-flight.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { createStoreInMemory } from './store-in-memory.ts';

const NETWORK = { networkID: 1, networkName: 'test' };
const KEY = 'work:a';
const IN_STORE = `v3:1:test:${KEY}`;
const never = new AbortController().signal;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const LEASE = 1;
const OUTCOME = 2;
const leaseOf = (byte: number, count = 0): Uint8Array =>
  Buffer.concat([Buffer.from([LEASE]), new Uint8Array(16).fill(byte), Buffer.from([0, 0, 0, count])]);
const outcomeOf = (text: string): Uint8Array => Buffer.concat([Buffer.from([OUTCOME]), bytes(text)]);

interface Run extends Partial<SingleFlightTask<string>> {
  readonly takesMs?: number;
  readonly signal?: AbortSignal;
  readonly network?: typeof NETWORK;
}

/** Outcomes are texts; `bad …` is rejected by other replicas. */
function createReplicas() {
  const clock = new FakeClock();
  const { store, state, entries, plant, planted } = createStoreInMemory(clock);
  const registry = new Registry();
  const log = createLogLines();
  const metrics = createMetrics(registry);
  const done: string[] = [];
  /** Called before each command. */
  const onCommand = { call: (): void => undefined };

  /** Runs the work on one more replica. Its outcome is its name. */
  function run(name: string, { takesMs = 200, signal = never, network = NETWORK, ...options }: Run = {}) {
    const ask: typeof store.ask = (command) => {
      onCommand.call();
      return store.ask(command);
    };
    const replica = createDistributedSingleFlight({ ...network, store: { ask }, clock, logger: log.logger, metrics });
    const task: SingleFlightTask<string> = {
      patienceMs: () => 10_000,
      async work() {
        await sleep(clock, takesMs);
        done.push(name);
        return name;
      },
      share: (outcome) => ({ bytes: bytes(outcome), ttlMs: 60_000 }),
      async accept(outcome) {
        const text = new TextDecoder().decode(outcome);
        return text.startsWith('bad') ? undefined : `${text} of another`;
      },
      ...options,
    };
    const result = replica.run(KEY, task, signal);
    result.catch(() => undefined);
    return result;
  }

  const counted = async (outcome: string): Promise<number> => {
    const text = await registry.getSingleMetricAsString('signature_aggregator_shared_work_total');
    return Number(new RegExp(`outcome="${outcome}"} (\\d+)`).exec(text)?.[1] ?? 0);
  };
  return {
    clock,
    state,
    entries,
    log,
    done,
    onCommand,
    run,
    counted,
    plant: (value: Uint8Array) => plant(IN_STORE, value),
    planted: () => planted(IN_STORE),
  };
}

describe('equal work of several replicas', () => {
  test('runs once, and the others wait for the outcome', async () => {
    const { clock, done, run, counted } = createReplicas();
    const results = [run('first'), run('second'), run('third')];
    await clock.advance(400);
    expect(await Promise.all(results)).toEqual(['first', 'first of another', 'first of another']);
    expect(done).toEqual(['first']);
    expect([await counted('ours'), await counted('waited')]).toEqual([1, 2]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('has its outcome until it expires', async () => {
    const { clock, entries, done, run, counted } = createReplicas();
    void run('first');
    await clock.advance(300);
    expect(await run('second')).toBe('first of another');
    expect(await counted('found')).toBe(1);
    expect(entries.get(IN_STORE)!.endsMs).toBe(60_200);
    await clock.advance(60_000);
    void run('third');
    await clock.advance(300);
    expect(done).toEqual(['first', 'third']);
  });

  test('is separate for networks with the same name and different IDs', async () => {
    const { clock, done, run } = createReplicas();
    const results = [run('one'), run('other', { network: { ...NETWORK, networkID: 2 } })];
    await clock.advance(300);
    expect(await Promise.all(results)).toEqual(['one', 'other']);
    expect(done).toEqual(['one', 'other']);
  });
});

describe('work that fails', () => {
  const failing = (clock: FakeClock, counts: { atOnce: number; most: number; runs: number }) => async () => {
    counts.atOnce += 1;
    counts.runs += 1;
    counts.most = Math.max(counts.most, counts.atOnce);
    await sleep(clock, 100);
    counts.atOnce -= 1;
    throw new Error('not enough');
  };

  test('is tried by each waiting replica once, one after the other', async () => {
    const { clock, entries, run } = createReplicas();
    const counts = { atOnce: 0, most: 0, runs: 0 };
    const results = ['one', 'two', 'three'].map((name) => run(name, { work: failing(clock, counts) }));
    await clock.advance(1_000);
    expect((await Promise.allSettled(results)).map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
    expect(counts).toEqual({ atOnce: 0, most: 1, runs: 3 });
    expect(entries.size).toBe(0);
  });

  test('and then succeeds at another replica is the outcome of all that still wait', async () => {
    const { clock, done, run, counted } = createReplicas();
    const counts = { atOnce: 0, most: 0, runs: 0 };
    const failed = run('one', { work: failing(clock, counts) });
    const results = [run('two'), run('three')];
    await clock.advance(1_000);
    await expect(failed).rejects.toThrow('not enough');
    const [winner] = done;
    expect(new Set(await Promise.all(results))).toEqual(new Set([winner, `${winner} of another`]));
    expect([counts.runs, done.length, await counted('taken_over')]).toEqual([1, 1, 1]);
  });

  test('is not waited for beyond the patience of a replica', async () => {
    const { clock, run, counted } = createReplicas();
    void run('slow', { takesMs: 60_000 });
    const startMs = clock.monotonicMs();
    const result = run('patient', { takesMs: 0, patienceMs: () => 3_000 });
    await clock.advance(3_200);
    expect(await result).toBe('patient');
    expect(clock.monotonicMs() - startMs).toBeLessThanOrEqual(3_200);
    expect(await counted('alone')).toBe(1);
  });
});

test('a holder that ends without a word is replaced when its lease expires', async () => {
  const { clock, done, run, plant, entries } = createReplicas();
  plant(leaseOf(7));
  entries.set(IN_STORE, { ...entries.get(IN_STORE)!, endsMs: LEASE_MS });
  const results = [run('one'), run('other')];
  await clock.advance(LEASE_MS - 1);
  expect(done).toEqual([]);
  await clock.advance(600);
  expect(done).toHaveLength(1);
  const [winner] = done;
  expect(new Set(await Promise.all(results))).toEqual(new Set([winner, `${winner} of another`]));
});

test('a cancellation while the lease is acquired releases it', async () => {
  const { entries, run } = createReplicas();
  const leaving = new AbortController();
  const left = run('left', { signal: leaving.signal });
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  await settle();
  expect(entries.size).toBe(0);
});

test('a cancellation while waiting leaves no timers', async () => {
  const { clock, run } = createReplicas();
  void run('slow', { takesMs: 3_000 });
  const leaving = new AbortController();
  const waiting = run('other', { signal: leaving.signal });
  await clock.advance(500);
  leaving.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await clock.advance(3_000);
  expect(clock.pendingTimers).toBe(0);
});

test('a store that is away lets each replica work alone, waiting ones too', async () => {
  const { clock, state, run, counted } = createReplicas();
  state.isAway = true;
  const now = run('now', { takesMs: 0 });
  expect(await Promise.race([now, clock.advance(10).then(() => 'late')])).toBe('now');
  state.isAway = false;
  const results = [run('one'), run('other')];
  await clock.advance(50);
  state.isAway = true;
  await clock.advance(500);
  expect(await Promise.all(results)).toEqual(['one', 'other']);
  expect(await counted('alone')).toBe(2);
  expect(clock.pendingTimers).toBe(0);
});

describe('forged values', () => {
  test.each<[string, Uint8Array]>([
    ['random bytes', bytes('nonsense')],
    ['an empty value', new Uint8Array()],
    ['a lease that is too long', Buffer.concat([leaseOf(7), Buffer.from([0])])],
    ['an outcome that is too long', outcomeOf('x'.repeat(512 * 1024))],
    ['an outcome that is not valid', outcomeOf('bad')],
  ])('%s is replaced at once', async (_, value) => {
    const { clock, run, plant, counted } = createReplicas();
    plant(value);
    const results = [run('one'), run('other')];
    await clock.advance(300);
    expect(await Promise.all(results)).toEqual(['one', 'one of another']);
    // Both replicas found it.
    expect(await counted('refused')).toBe(value.length > 0 ? 2 : 0);
  });

  test('that no replica writes are reported to the operator', async () => {
    const { clock, run, log, plant } = createReplicas();
    plant(bytes('nonsense'));
    void run('one');
    await clock.advance(300);
    expect(log.lines.join('')).toContain('store.sharedKeyPrefix');
  });

  test('a lease without renewals delays no longer than a real one', async () => {
    const { clock, run, plant } = createReplicas();
    plant(leaseOf(7));
    const result = run('other', { takesMs: 0 });
    await clock.advance(LEASE_MS + 200);
    expect(await result).toBe('other');
  });

  test('a replica works alone if forged outcomes return faster than it replaces them', async () => {
    const { clock, run, onCommand, plant } = createReplicas();
    let plantings = 0;
    onCommand.call = () => plant(outcomeOf(`bad ${(plantings += 1)}`));
    const result = run('alone', { takesMs: 0 });
    await clock.advance(10);
    expect(await result).toBe('alone');
    expect(plantings).toBe(4);
  });

  test('the wait for a forged lease that is always renewed is bounded', async () => {
    const { clock, run, plant } = createReplicas();
    const renew = (count: number): void => {
      plant(leaseOf(7, count));
      if (count < 40) clock.after(100, () => renew(count + 1));
    };
    renew(0);
    const result = run('patient', { takesMs: 0, patienceMs: () => 3_000 });
    await clock.advance(3_200);
    expect(await result).toBe('patient');
  });
});

test('a lost lease is not renewed, and a failure does not delete the value of another replica', async () => {
  const { clock, run, onCommand, plant, planted } = createReplicas();
  const work = async (): Promise<string> => {
    await sleep(clock, 2_000);
    throw new Error('not enough');
  };
  void run('failing', { work });
  await clock.advance(50);
  const theirs = leaseOf(9);
  plant(theirs);
  let renewals = 0;
  onCommand.call = () => void (renewals += 1);
  await clock.advance(1_900);
  expect(renewals).toBe(1);
  await clock.advance(500);
  expect(Uint8Array.from(planted())).toEqual(Uint8Array.from(theirs));
});

test('a lease is renewed, and an outcome that is too long releases it', async () => {
  const { clock, entries, run } = createReplicas();
  const share = () => ({ bytes: new Uint8Array(512 * 1024), ttlMs: 1_000 });
  const result = run('one', { share, takesMs: 500 });
  await clock.advance(450);
  expect(entries.get(IN_STORE)?.endsMs).toBe(400 + LEASE_MS);
  await clock.advance(100);
  expect(await result).toBe('one');
  expect(entries.size).toBe(0);
});
