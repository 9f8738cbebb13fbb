import { expect, inject, test } from 'vitest';
import { type FeedRun, runFeed } from './feed-world.ts';

/** A seed to replay, and nothing else to run. */
const SEED = process.env['SIMULATION_SEED'];
const FIRST = Number(process.env['SIMULATION_FIRST'] ?? 1);
const COUNT = Number(process.env['SIMULATION_SCHEDULES'] ?? inject('feedSchedules'));
/** Bounds the output for one bug. */
const MAX_FAILURES = 5;
/** In fewer schedules not all that must occur may occur. */
const MANY = 20;
const TIMEOUT_MS = 900_000;
const MUST_OCCUR = [
  'crash',
  'crash while writing',
  'stopped',
  'signed',
  'failed',
  'found late',
  'a position given up',
  'a full disk',
  'a wrong clock',
];

function describeFailure(seed: number, { violations }: FeedRun): string {
  const replay = `replay: SIMULATION_SEED=${seed} npx vitest run test/simulation/feed.test.ts`;
  return [`seed ${seed}:`, ...violations.slice(0, 10).map((violation) => `  ${violation}`), replay].join('\n');
}

test.runIf(SEED !== undefined)(`seed ${SEED}`, async () => {
  const run = await runFeed(Number(SEED));
  expect(run.violations, describeFailure(Number(SEED), run)).toEqual([]);
});

test.runIf(SEED === undefined)(
  'no schedule of the feed breaks an invariant',
  async () => {
    const failures: string[] = [];
    const occurred = new Set<string>();
    for (let seed = FIRST; seed < FIRST + COUNT && failures.length < MAX_FAILURES; seed += 1) {
      const run = await runFeed(seed);
      for (const what of run.occurred) occurred.add(what);
      if (run.violations.length > 0) failures.push(describeFailure(seed, run));
    }
    expect(failures.join('\n'), failures.join('\n')).toBe('');
    if (COUNT >= MANY) expect([...occurred]).toEqual(expect.arrayContaining(MUST_OCCUR));
  },
  TIMEOUT_MS,
);

test.runIf(SEED === undefined)(
  'a seed of the feed is the same run each time',
  async () => {
    const { digest } = await runFeed(1);
    expect((await runFeed(1)).digest).toBe(digest);
  },
  TIMEOUT_MS,
);
