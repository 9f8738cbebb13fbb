import { defineConfig } from 'vitest/config';

/** Tests that replace modules or globals, or that run commands in this process. */
const ISOLATED = 'test/unit/{bls,cli,tooling}/**/*.test.ts';

export default defineConfig({
  test: {
    // Vitest would leave one core to itself, and on two cores take twice as long.
    maxWorkers: '100%',
    // undici marks what decodes compressed bodies as experimental.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    setupFiles: ['test/support/property-sizes.ts'],
    // No test is about time: it only ends what hangs, and not what is slow on a busy machine.
    testTimeout: 30_000,
    expect: { poll: { timeout: 20_000 } },
    // Of the seeds: each has a network and a service, which share two cores.
    maxConcurrency: 3,
    // A share of what `npm run test:faults` and `npm run test:simulation` try.
    provide: { faultSeeds: 12, schedules: 300, replicaSchedules: 180, feedSchedules: 10 },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/{unit,integration,faults}/**/*.test.ts'],
          exclude: [ISOLATED],
          // Loading the modules of each file again would double the time.
          isolate: false,
          restoreMocks: true,
          unstubEnvs: true,
          unstubGlobals: true,
        },
      },
      {
        extends: true,
        test: {
          name: 'isolated',
          include: ['test/simulation/{simulation,replicas,feed}.test.ts', ISOLATED],
        },
      },
    ],
    // .ci/run counts from the JSON file.
    reporters: ['default', 'json'],
    outputFile: { json: '.cache/test-results/test.json' },
  },
});
