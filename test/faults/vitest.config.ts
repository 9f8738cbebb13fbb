import { defineConfig } from 'vitest/config';

declare module 'vitest' {
  interface ProvidedContext {
    /** How many seeds are tried. */
    faultSeeds: number;
  }
}

export default defineConfig({
  test: {
    // Of the seeds: each has a network and a service, which share two cores.
    maxConcurrency: 3,
    testTimeout: 30_000,
    expect: { poll: { timeout: 20_000 } },
    root: import.meta.dirname,
    include: ['*.test.ts'],
    provide: { faultSeeds: 500 },
  },
});
