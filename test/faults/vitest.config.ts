import { defineConfig } from 'vitest/config';

declare module 'vitest' {
  interface ProvidedContext {
    /** How many seeds are tried. */
    faultSeeds: number;
  }
}

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    provide: { faultSeeds: 500 },
  },
});
