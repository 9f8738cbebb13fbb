import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Vitest would leave one core to itself, and on two cores take twice as long.
    maxWorkers: '100%',
    // No test is about time: it only ends what hangs, and not what is slow on a busy machine.
    testTimeout: 30_000,
    expect: { poll: { timeout: 20_000 } },
    // Of the seeds: each has a network and a service, which share two cores.
    maxConcurrency: 3,
    // A share of what `npm run test:faults` and `npm run test:simulation` try.
    provide: { faultSeeds: 12, hopelessFaultSeeds: 4, schedules: 300, replicaSchedules: 180 },
    include: ['test/{unit,integration,faults}/**/*.test.ts', 'test/simulation/{simulation,replicas}.test.ts'],
    // .ci/run counts from the JSON file.
    reporters: ['default', 'json'],
    outputFile: { json: '.cache/test-results/test.json' },
  },
});
