import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Of the seeds: each has a network and a service, which share two cores.
    maxConcurrency: 3,
    // A share of what `npm run test:faults` tries.
    provide: { faultSeeds: 20, hopelessFaultSeeds: 4 },
    include: ['test/{unit,integration,faults,simulation}/**/*.test.ts'],
    // .ci/run counts from the JSON file.
    reporters: ['default', 'json'],
    outputFile: { json: '.cache/test-results/test.json' },
  },
});
