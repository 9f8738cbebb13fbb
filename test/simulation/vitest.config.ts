import { defineConfig, type Plugin } from 'vitest/config';
import { PLANTED_BUGS } from '../mutations/bugs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Schedules of one service; each takes some ten milliseconds. */
    schedules: number;
    /** Schedules of replicas; eleven in twelve have three. */
    replicaSchedules: number;
    /** Schedules of the feed. */
    feedSchedules: number;
  }
}

/** Plants the bug that the query of a module names. */
const plantBugs: Plugin = {
  name: 'plant bugs',
  enforce: 'pre',
  transform(code, id) {
    const name = new URLSearchParams(id.split('?')[1]).get('planted');
    if (name === null) return undefined;
    const bug = PLANTED_BUGS.find((one) => one.name === name);
    if (bug === undefined || code.split(bug.find).length !== 2) throw new Error(`cannot plant "${name}"`);
    return code.replace(bug.find, () => bug.replace);
  },
};

/** More than `npm test` runs, and the planted bugs, which test the simulation itself. `.github/workflows/nightly.yml` runs more schedules. */
export default defineConfig({
  plugins: [plantBugs],
  test: {
    maxWorkers: '100%',
    root: import.meta.dirname,
    include: ['*.test.ts'],
    provide: { schedules: 2_000, replicaSchedules: 1_000, feedSchedules: 30 },
  },
});
