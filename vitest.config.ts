import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,integration,faults,simulation}/**/*.test.ts'],
    // .ci/run counts from the JSON file.
    reporters: ['default', 'json'],
    outputFile: { json: '.cache/test-results/test.json' },
  },
});
