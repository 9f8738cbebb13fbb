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
import { createMemorySharedValues } from './memory-shared-values.ts';

const KEY = 'work:a';
const SECRET = 'the secret of the replicas';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value);

/** Outcomes are texts; `bad …` is rejected by other replicas, and `secret …` is not shared. */
function createReplicas({ secret }: { secret: string | undefined } = { secret: SECRET }) {
  const clock = new FakeClock();
  const values = createMemorySharedValues(clock);
  const registry = new Registry();
  const log = createLogLines();
  const open = (own: string | undefined = secret) =>
    createDistributedSingleFlight({
      ...{ values, clock, logger: log.logger, metrics: createMetrics(registry) },
      seal: createSeal(own, 'test:'),
    });
  const done: string[] = [];

  function taskOf(
    name: string,
    more: Partial<SingleFlightTask<string>> & { takesMs?: number; isProven?: boolean } = {},
  ) {
    const { takesMs = 200, isProven = true, ...rest } = more;
    const progressed: (string | undefined)[] = [];
    const task: SingleFlightTask<string> = {
      patienceMs: 10_000,
      async work() {
        await sleep(clock, takesMs);
        done.push(name);
        return name;
      },
      share: (outcome) =>
        outcome.startsWith('secret') ? undefined : { bytes: bytes(outcome), ttlMs: 60_000, isProven },
      accept: async (outcome) => {
        const text = textOf(outcome.bytes)!;
        return text.startsWith('bad') ? undefined : `${text} of another`;
      },
      progress: () => bytes(`${name} works`),
      onProgress: (progress) => void progressed.push(textOf(progress)),
      ...rest,
    };
    return { ...task, progressed };
  }

  function run(
    work: ReturnType<typeof open>,
    task: SingleFlightTask<string>,
    signal: AbortSignal = new AbortController().signal,
  ) {
    const result = work.run(KEY, task, signal);
    result.catch(() => undefined);
    return result;
  }

  const counted = async (outcome: string): Promise<number> => {
    const text = await registry.getSingleMetricAsString('signature_aggregator_shared_work_total');
    return Number(new RegExp(`outcome="${outcome}"} (\\d+)`).exec(text)?.[1] ?? 0);
  };
  return { clock, values, log, open, done, taskOf, run, counted };
}

describe('equal work of several replicas', () => {
  test('runs once; the others wait for the outcome and receive progress', async () => {
    const { clock, open, done, taskOf, run, counted } = createReplicas();
    const second = taskOf('second');
    const results = [run(open(), taskOf('first')), run(open(), second), run(open(), taskOf('third'))];
    await clock.advance(400);
    expect(await Promise.all(results)).toEqual(['first', 'first of another', 'first of another']);
    expect(done).toEqual(['first']);
    // First that another replica has the lease, then its progress.
    expect(second.progressed).toEqual([undefined, 'first works']);
    expect([await counted('ours'), await counted('waited')]).toEqual([1, 2]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('has its outcome until it expires', async () => {
    const { clock, values, open, done, taskOf, run, counted } = createReplicas();
    void run(open(), taskOf('first'));
    await clock.advance(300);
    expect(await run(open(), taskOf('second'))).toBe('first of another');
    expect(await counted('found')).toBe(1);
    expect(values.entries.get(KEY)!.endsMs).toBe(60_200);
    await clock.advance(60_000);
    const third = run(open(), taskOf('third'));
    await clock.advance(300);
    expect(await third).toBe('third');
    expect(done).toEqual(['first', 'third']);
  });

  test('with an unshared outcome runs on each replica in turn', async () => {
    const { clock, open, done, taskOf, run } = createReplicas();
    const results = [run(open(), taskOf('secret 1')), run(open(), taskOf('secret 2'))];
    await clock.advance(1_000);
    expect(await Promise.all(results)).toEqual(['secret 1', 'secret 2']);
    expect(done).toHaveLength(2);
  });

  test('that fails or is cancelled runs on the next replica at once', async () => {
    const { clock, values, open, taskOf, run } = createReplicas();
    const failing = run(open(), taskOf('x', { work: () => Promise.reject(new Error('broken')) }));
    await expect(failing).rejects.toThrow('broken');
    expect(values.entries.size).toBe(0);

    const leaving = new AbortController();
    const left = run(open(), taskOf('left', { work: () => sleep(clock, 5_000, leaving.signal).then(() => 'left') }));
    const next = run(open(), taskOf('next'));
    await clock.advance(500);
    leaving.abort(new Error('cancelled'));
    await expect(left).rejects.toThrow('cancelled');
    await clock.advance(400);
    expect(await next).toBe('next');
    expect(clock.pendingTimers).toBe(0);
  });

  test('keeps the lease while it runs long', async () => {
    const { clock, open, done, taskOf, run } = createReplicas();
    const results = [run(open(), taskOf('slow', { takesMs: 9_000 })), run(open(), taskOf('other'))];
    await clock.advance(9_200);
    expect(await Promise.all(results)).toEqual(['slow', 'slow of another']);
    expect(done).toEqual(['slow']);
  });

  test('a cancellation while the lease is acquired releases it', async () => {
    const { values, open, taskOf, run } = createReplicas();
    const leaving = new AbortController();
    const left = run(open(), taskOf('left'), leaving.signal);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(values.entries.size).toBe(0);
  });

  test('a cancellation while waiting leaves no timers', async () => {
    const { clock, open, taskOf, run } = createReplicas();
    void run(open(), taskOf('slow', { takesMs: 3_000 }));
    const leaving = new AbortController();
    const waiting = run(open(), taskOf('other'), leaving.signal);
    await clock.advance(500);
    leaving.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await clock.advance(3_000);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a dead replica', () => {
  test('delays the others until its lease expires, and one of them takes over', async () => {
    const { clock, values, open, done, taskOf, run, counted } = createReplicas();
    void run(open(), taskOf('dying', { takesMs: Number.POSITIVE_INFINITY }));
    await clock.advance(50);
    // It no longer renews its lease.
    const { value } = values.entries.get(KEY)!;
    const { replace } = values;
    values.replace = async (key, expected, replacement) =>
      expected !== undefined && Buffer.compare(expected, value.subarray(0, 16)) === 0
        ? { kind: 'away' }
        : replace(key, expected, replacement);
    const results = [run(open(), taskOf('heir')), run(open(), taskOf('other'))];
    await clock.advance(LEASE_MS - 100);
    expect(done).toEqual([]);
    await clock.advance(500);
    expect((await Promise.all(results)).toSorted()).toEqual(['heir', 'heir of another']);
    expect(await counted('taken_over')).toBe(1);
  });
});

describe('a store that is away', () => {
  test('lets each replica work alone, waiting ones too', async () => {
    const { clock, values, open, done, taskOf, run, counted } = createReplicas();
    values.isAway = true;
    expect(await Promise.race([run(open(), taskOf('now', { takesMs: 0 })), clock.advance(10).then(() => 'late')])).toBe(
      'now',
    );
    values.isAway = false;
    const results = [run(open(), taskOf('one')), run(open(), taskOf('other'))];
    await clock.advance(50);
    values.isAway = true;
    await clock.advance(500);
    expect(await Promise.all(results)).toEqual(['one', 'other']);
    expect(done).toEqual(['now', 'one', 'other']);
    expect(await counted('alone')).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  test('and returns empty still gets the outcome', async () => {
    const { clock, values, open, taskOf, run } = createReplicas();
    const one = run(open(), taskOf('one'));
    await clock.advance(50);
    values.entries.clear();
    const other = run(open(), taskOf('other'));
    await clock.advance(160);
    expect(await one).toBe('one');
    await clock.advance(300);
    await other;
    expect(await run(open(), taskOf('third'))).toMatch(/of another$/);
  });
});

describe('forged values', () => {
  const token = new Uint8Array(16).fill(7);
  const planted: [string, Uint8Array][] = [
    ['random bytes', bytes('nonsense')],
    ['an empty value', new Uint8Array()],
    ['an unsealed lease', Buffer.concat([token, Buffer.from([1, 0, 0, 0, 0])])],
    ['an unsealed outcome', Buffer.concat([token, Buffer.from([2]), bytes('planted')])],
    ['a value that is too long', new Uint8Array(1_000_000).fill(1)],
  ];
  test.each(planted)('%s is replaced at once', async (_, value) => {
    const { clock, values, open, taskOf, run, log } = createReplicas();
    values.entries.set(KEY, { value, endsMs: Number.POSITIVE_INFINITY });
    const results = [run(open(), taskOf('one')), run(open(), taskOf('other'))];
    await clock.advance(300);
    expect(await Promise.all(results)).toEqual(['one', 'one of another']);
    if (value.length > 0) expect(log.lines.join('')).toContain('store.sharedSecret');
  });

  test('a rejected outcome is replaced', async () => {
    const { clock, open, done, taskOf, run, counted } = createReplicas();
    void run(open(), taskOf('bad one'));
    await clock.advance(300);
    const good = run(open(), taskOf('good one'));
    await clock.advance(300);
    expect(await good).toBe('good one');
    expect(await run(open(), taskOf('third'))).toBe('good one of another');
    expect(done).toEqual(['bad one', 'good one']);
    expect(await counted('refused')).toBe(1);
  });

  test('a replayed lease without renewals delays no longer than a real one', async () => {
    const { clock, values, open, taskOf, run } = createReplicas();
    void run(open(), taskOf('holder', { takesMs: 10 }));
    const { value } = values.entries.get(KEY)!;
    await clock.advance(50);
    // A copy without expiry.
    values.entries.set(KEY, { value, endsMs: Number.POSITIVE_INFINITY });
    const result = run(open(), taskOf('other', { takesMs: 0 }));
    await clock.advance(LEASE_MS + 200);
    expect(await result).toBe('other');
  });

  test('a replica works alone if forged outcomes return faster than it replaces them', async () => {
    const { clock, values, open, taskOf, run } = createReplicas({ secret: undefined });
    const { replace } = values;
    let plantings = 0;
    values.replace = async (key, expected, replacement) => {
      plantings += 1;
      values.entries.set(key, {
        value: Buffer.concat([token, Buffer.from([2]), bytes(`bad ${plantings}`)]),
        endsMs: Number.POSITIVE_INFINITY,
      });
      return replace(key, expected, replacement);
    };
    const result = run(open(), taskOf('alone', { takesMs: 0 }));
    await clock.advance(10);
    expect(await result).toBe('alone');
    expect(plantings).toBe(4);
  });

  test('the wait for a forged lease that is always renewed is bounded', async () => {
    const { clock, values, open, taskOf, run } = createReplicas({ secret: undefined });
    const keep = (count: number): void => {
      const value = Buffer.concat([token, Buffer.from([1, 0, 0, 0, count % 256])]);
      values.entries.set(KEY, { value, endsMs: Number.POSITIVE_INFINITY });
      if (count < 200) clock.after(100, () => keep(count + 1));
    };
    keep(0);
    const result = run(open(), taskOf('patient', { takesMs: 0, patienceMs: 3_000 }));
    await clock.advance(3_200);
    expect(await result).toBe('patient');
    await clock.advance(20_000);
  });

  test('a replayed failure is accepted for minutes only', async () => {
    const { clock, values, open, done, taskOf, run, log, counted } = createReplicas();
    void run(open(), taskOf('failure', { isProven: false }));
    await clock.advance(300);
    // A copy without expiry.
    const { value } = values.entries.get(KEY)!;
    values.entries.set(KEY, { value, endsMs: Number.POSITIVE_INFINITY });
    // The tolerated difference of clocks.
    await clock.advance(60_000 + 119_000);
    expect(await run(open(), taskOf('early'))).toBe('failure of another');
    await clock.advance(2_000);
    const late = run(open(), taskOf('late'));
    await clock.advance(300);
    expect(await late).toBe('late');
    expect(done).toEqual(['failure', 'late']);
    expect(await counted('refused')).toBe(1);
    expect(log.lines.join('')).toContain('expired failure');
  });

  test('a sealed unproven outcome without an end is rejected', async () => {
    const { clock, values, open, taskOf, run } = createReplicas();
    const name = `${KEY} ${Buffer.from(token).toString('hex')}`;
    const value = Buffer.concat([token, createSeal(SECRET, 'test:').seal(name, Buffer.from([3, 1]))]);
    values.entries.set(KEY, { value, endsMs: Number.POSITIVE_INFINITY });
    const result = run(open(), taskOf('one'));
    await clock.advance(300);
    expect(await result).toBe('one');
  });

  test('replicas with different secrets reject each other', async () => {
    const { clock, open, done, taskOf, run } = createReplicas();
    void run(open(), taskOf('one'));
    await clock.advance(300);
    const other = run(open('another secret of some'), taskOf('other'));
    await clock.advance(300);
    expect(await other).toBe('other');
    expect(done).toEqual(['one', 'other']);
  });
});

describe('without a secret', () => {
  test('proven outcomes are shared, progress is not', async () => {
    const { clock, open, taskOf, run } = createReplicas({ secret: undefined });
    const other = taskOf('other');
    const results = [run(open(), taskOf('one')), run(open(), other)];
    await clock.advance(400);
    expect(await Promise.all(results)).toEqual(['one', 'one of another']);
    expect(other.progressed.every((progress) => progress === undefined)).toBe(true);
  });

  test('unproven outcomes are neither shared nor accepted', async () => {
    const { clock, values, open, done, taskOf, run } = createReplicas({ secret: undefined });
    void run(open(), taskOf('one', { isProven: false }));
    await clock.advance(300);
    expect(values.entries.size).toBe(0);
    const value = Buffer.concat([new Uint8Array(16), Buffer.from([3]), bytes('word')]);
    values.entries.set(KEY, { value, endsMs: Number.POSITIVE_INFINITY });
    const other = run(open(), taskOf('other'));
    await clock.advance(300);
    expect(await other).toBe('other');
    expect(done).toEqual(['one', 'other']);
  });
});

describe('bounds', () => {
  test('an unproven outcome of a lost lease does not replace another value', async () => {
    const { clock, values, open, taskOf, run } = createReplicas();
    void run(open(), taskOf('word', { isProven: false }));
    await clock.advance(50);
    const theirs = bytes('of another replica');
    values.entries.set(KEY, { value: theirs, endsMs: Number.POSITIVE_INFINITY });
    await clock.advance(500);
    expect(values.entries.get(KEY)!.value).toBe(theirs);
  });

  test('too long progress and outcomes are not shared', async () => {
    const { clock, values, open, taskOf, run } = createReplicas();
    const long = new Uint8Array(MAX_PROGRESS_BYTES + 1);
    const share = () => ({ bytes: new Uint8Array(512 * 1024), ttlMs: 1_000, isProven: true });
    const result = run(open(), taskOf('one', { progress: () => long, share }));
    await clock.advance(150);
    expect(values.entries.get(KEY)!.value.length).toBeLessThan(100);
    await clock.advance(100);
    expect(await result).toBe('one');
    expect(values.entries.size).toBe(0);
  });
});
