import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

const BACKEND = new URL('../../../../src/bls/backends/noble-backend.ts', import.meta.url).href;

/** Loads the backend in a separate thread and returns which modules that loads. */
const SPY = `
  import { registerHooks } from 'node:module';
  import { parentPort } from 'node:worker_threads';
  const files = [];
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      files.push(found.url);
      return found;
    },
  });
  await import('${BACKEND}');
  parentPort.postMessage(files);
`;

test('a thread loads neither what assembles it nor the formulas that it is made of', async () => {
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(SPY)}`), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const files = await new Promise<string[]>((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
  await thread.terminate();
  expect(files).toContain(BACKEND);
  expect(
    files.filter((file) =>
      /assembl|formula-recorder|(?:noble|compile)-formulas|fused-code|bls12-381|integer/.test(file),
    ),
  ).toEqual([]);
});
