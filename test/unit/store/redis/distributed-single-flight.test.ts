import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { sleep } from '../../../../src/lib/concurrency/clock.ts';
import {
  createDistributedSingleFlight,
  LEASE_MS,
  MAX_PROGRESS_BYTES,
  type SingleFlightTask,
} from '../../../../src/store/redis/distributed-single-flight.ts';
import { createSeal } from '../../../../src/store/redis/seal.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { createStoreInMemory } from './store-in-memory.ts';

const KEY = 'work:a';
const never = new AbortController().signal;
const SECRET = 'the secret of the replicas';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value);

interface Run extends Partial<SingleFlightTask<string>> {
  readonly takesMs?: number;
  readonly isProven?: boolean;
  readonly signal?: AbortSignal;
}

/** Outcomes are texts; `bad …` is rejected by other replicas. */
function createReplicas(secret: string | null = SECRET) {
  const clock = new FakeClock();
  const { values, state, entries, plant, planted } = createStoreInMemory(clock);
  const registry = new Registry();
  const log = createLogLines();
  const metrics = createMetrics(registry);
  const seal = createSeal(secret ?? undefined, 'test:');
  const done: string[] = [];
  /** The progress that each run has seen. */
  const progressed: Record<string, (string | undefined)[]> = {};

  /** Runs the work on one more replica. Its outcome is its name. */
  function run(name: string, { takesMs = 200, isProven = true, signal = never, ...options }: Run = {}) {
    const replica = createDistributedSingleFlight({ values, seal, clock, logger: log.logger, metrics });
    const result = replica.run<string>(
      KEY,
      {
        patienceMs: () => 10_000,
        async work() {
          await sleep(clock, takesMs);
          done.push(name);
          return name;
        },
        share: (outcome) => ({ bytes: bytes(outcome), ttlMs: 60_000, isProven }),
        async accept(outcome) {
          const text = textOf(outcome.bytes)!;
          return text.startsWith('bad') ? undefined : `${text} of another`;
        },
        progress: () => bytes(`${name} works`),
        onProgress: (progress) => void (progressed[name] ??= []).push(textOf(progress)),
        ...options,
      },
      signal,
    );
    result.catch(() => undefined);
    return result;
  }

  const counted = async (outcome: string): Promise<number> => {
    const text = await registry.getSingleMetricAsString('signature_aggregator_shared_work_total');
    return Number(new RegExp(`outcome="${outcome}"} (\\d+)`).exec(text)?.[1] ?? 0);
  };
  return {
    clock,
    values,
    state,
    entries,
    log,
    done,
    progressed,
    run,
    counted,
    plant: (value: Uint8Array) => plant(KEY, value),
    planted: () => planted(KEY),
  };
}

describe('equal work of several replicas', () => {
  test('runs once; the others wait for the outcome and receive progress', async () => {
    const { clock, done, progressed, run, counted } = createReplicas();
    const results = [run('first'), run('second'), run('third')];
    await clock.advance(400);
    expect(await Promise.all(results)).toEqual(['first', 'first of another', 'first of another']);
    expect(done).toEqual(['first']);
    // First that another replica has the lease, then its progress.
    expect(progressed['second']).toEqual([undefined, 'first works']);
    expect([await counted('ours'), await counted('waited')]).toEqual([1, 2]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('has its outcome until it expires', async () => {
    const { clock, entries, done, run, counted } = createReplicas();
    void run('first');
    await clock.advance(300);
    expect(await run('second')).toBe('first of another');
    expect(await counted('found')).toBe(1);
    expect(entries.get(KEY)!.endsMs).toBe(60_200);
    await clock.advance(60_000);
    void run('third');
    await clock.advance(300);
    expect(done).toEqual(['first', 'third']);
  });
});

test('a cancellation while the lease is acquired releases it', async () => {
  const { entries, run } = createReplicas();
  const leaving = new AbortController();
  const left = run('left', { signal: leaving.signal });
  leaving.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
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
  const token = new Uint8Array(16).fill(7);

  test.each<[string, Uint8Array]>([
    ['random bytes', bytes('nonsense')],
    ['an empty value', new Uint8Array()],
    ['an unsealed lease', Buffer.concat([token, Buffer.from([1, 0, 0, 0, 0])])],
    ['an unsealed outcome', Buffer.concat([token, Buffer.from([2]), bytes('planted')])],
    ['a value that is too long', new Uint8Array(1_000_000).fill(1)],
    [
      'a sealed unproven outcome without an end',
      Buffer.concat([token, createSeal(SECRET, 'test:').seal(`${KEY} ${'07'.repeat(16)}`, Buffer.from([3, 1]))]),
    ],
  ])('%s is replaced at once', async (_, value) => {
    const { clock, run, log, plant } = createReplicas();
    plant(value);
    const results = [run('one'), run('other')];
    await clock.advance(300);
    expect(await Promise.all(results)).toEqual(['one', 'one of another']);
    if (value.length > 0) expect(log.lines.join('')).toContain('store.sharedSecret');
  });

  test('a replayed lease without renewals delays no longer than a real one', async () => {
    const { clock, run, plant, planted } = createReplicas();
    void run('holder', { takesMs: 10 });
    const lease = planted();
    await clock.advance(50);
    plant(lease);
    const result = run('other', { takesMs: 0 });
    await clock.advance(LEASE_MS + 200);
    expect(await result).toBe('other');
  });

  test('a replica works alone if forged outcomes return faster than it replaces them', async () => {
    const { clock, values, run, plant } = createReplicas(null);
    const { replace } = values;
    let plantings = 0;
    values.replace = async (...args) => {
      plantings += 1;
      plant(Buffer.concat([token, Buffer.from([2]), bytes(`bad ${plantings}`)]));
      return replace(...args);
    };
    const result = run('alone', { takesMs: 0 });
    await clock.advance(10);
    expect(await result).toBe('alone');
    expect(plantings).toBe(4);
  });

  test('the wait for a forged lease that is always renewed is bounded', async () => {
    const { clock, run, plant } = createReplicas(null);
    const renew = (count: number): void => {
      plant(Buffer.concat([token, Buffer.from([1, 0, 0, 0, count])]));
      if (count < 40) clock.after(100, () => renew(count + 1));
    };
    renew(0);
    const result = run('patient', { takesMs: 0, patienceMs: () => 3_000 });
    await clock.advance(3_200);
    expect(await result).toBe('patient');
  });

  test('a replayed failure is accepted for minutes only', async () => {
    const { clock, done, run, log, counted, plant, planted } = createReplicas();
    void run('failure', { isProven: false });
    await clock.advance(300);
    plant(planted());
    // The tolerated difference of clocks.
    await clock.advance(60_000 + 119_000);
    expect(await run('early')).toBe('failure of another');
    await clock.advance(2_000);
    void run('late');
    await clock.advance(300);
    expect(done).toEqual(['failure', 'late']);
    expect(await counted('refused')).toBe(1);
    expect(log.lines.join('')).toContain('expired failure');
  });
});

describe('without a secret', () => {
  test('proven outcomes are shared, progress is not', async () => {
    const { clock, progressed, run } = createReplicas(null);
    const results = [run('one'), run('other')];
    await clock.advance(400);
    expect(await Promise.all(results)).toEqual(['one', 'one of another']);
    expect(progressed['other']?.every((progress) => progress === undefined)).toBe(true);
  });

  test('unproven outcomes are neither shared nor accepted', async () => {
    const { clock, entries, done, run, plant } = createReplicas(null);
    void run('one', { isProven: false });
    await clock.advance(300);
    expect(entries.size).toBe(0);
    plant(Buffer.concat([new Uint8Array(16), Buffer.from([3]), bytes('word')]));
    void run('other');
    await clock.advance(300);
    expect(done).toEqual(['one', 'other']);
  });
});

test('a lost lease is not renewed, and its unproven outcome does not replace another value', async () => {
  const { clock, values, run, plant, planted } = createReplicas();
  void run('word', { isProven: false, takesMs: 2_000 });
  await clock.advance(50);
  const theirs = bytes('of another replica');
  plant(theirs);
  const { replace } = values;
  let renewals = 0;
  values.replace = (...args) => {
    renewals += 1;
    return replace(...args);
  };
  await clock.advance(1_900);
  expect(renewals).toBe(1);
  await clock.advance(500);
  expect(Uint8Array.from(planted())).toEqual(theirs);
});

test('too long progress and outcomes are not shared', async () => {
  const { clock, entries, run, planted } = createReplicas();
  const share = () => ({ bytes: new Uint8Array(512 * 1024), ttlMs: 1_000, isProven: true });
  const result = run('one', { progress: () => new Uint8Array(MAX_PROGRESS_BYTES + 1), share });
  await clock.advance(150);
  // It was renewed once.
  expect(entries.get(KEY)?.endsMs).toBe(100 + LEASE_MS);
  expect(planted().length).toBeLessThan(100);
  await clock.advance(100);
  expect(await result).toBe('one');
  expect(entries.size).toBe(0);
});
