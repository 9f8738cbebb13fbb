import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    globalSetup: ['figures-table.ts'],
    // One network at a time, and one test after the other on it.
    fileParallelism: false,
    // The first build takes five to seven minutes on two cores.
    hookTimeout: 30 * 60_000,
    testTimeout: 3 * 60_000,
  },
});
