import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Beginnings of the names of files that need what Go builds. The first one starts the network; half a minute later its L1 is known
 * everywhere. The last one changes the network.
 */
const WITH_GO = ['node-', 'go-reference', 'go-clients', 'chart', 'service-', 'l1-'];

class WithGoLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): string => {
      const name = basename(moduleId);
      return `${WITH_GO.findIndex((beginning) => name.startsWith(beginning)) + 1} ${name}`;
    };
    return files.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  }
}

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['*.test.ts'],
    globalSetup: ['scratch-folder.ts'],
    setupFiles: ['build-ahead.ts'],
    provide: { isWholeRun: process.argv.slice(2).every((argument) => /^-|^run$|vitest\.config/.test(argument)) },
    sequence: { sequencer: WithGoLast },
    // One process for all files, one after the other: they share programs of Go, and one network.
    fileParallelism: false,
    isolate: false,
    // The first build takes five to seven minutes on two cores.
    hookTimeout: 30 * 60_000,
    testTimeout: 3 * 60_000,
    // Vitest's own is a second, which a busy machine needs for a frame.
    expect: { poll: { timeout: 20_000 } },
  },
});
