import { defineConfig } from 'vitest/config';

declare module 'vitest' {
  interface ProvidedContext {
    /** Schedules of one service; each takes some ten milliseconds. */
    schedules: number;
    /** Schedules of replicas; eleven in twelve have three. */
    replicaSchedules: number;
  }
}

/** The full set, of which `npm test` runs a share, and the planted bugs, which test the simulation itself. */
export default defineConfig({
  test: {
    maxWorkers: '100%',
    root: import.meta.dirname,
    include: ['*.test.ts'],
    provide: { schedules: 10_000, replicaSchedules: 5_460 },
  },
});
