import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { serializeError } from '../../../src/telemetry/logger.ts';

test('errors of our classes are logged by their message, bugs with their stack', () => {
  expect(serializeError(new ApiError('unavailable', 'no connection', { cause: new Error('inside') }))).toEqual({
    type: 'ApiError',
    message: 'no connection',
  });
  const withDetail = new ApiError('unavailable', 'no connection', { detail: 'node.internal:9650: no connection' });
  expect(serializeError(withDetail)).toMatchObject({ detail: 'node.internal:9650: no connection' });
  class Wrapping extends Error {
    override readonly name = 'Wrapping';
  }
  expect(serializeError(new Wrapping('the API failed', { cause: withDetail }))).toEqual({
    type: 'Wrapping',
    message: 'the API failed',
    detail: 'node.internal:9650: no connection',
  });
  for (const bug of [new TypeError('not a function'), new Error('cannot be')]) {
    expect(serializeError(bug)).toMatchObject({ message: bug.message, stack: bug.stack });
  }
  expect(serializeError('text')).toBe('text');
});

/** Runs in a separate process, because lines go to its standard error. */
function run(code: string, stderr: 'pipe' | number) {
  const logger = new URL('../../../src/telemetry/logger.ts', import.meta.url).href;
  const script = `const { createLogger } = await import(${JSON.stringify(logger)}); const logger = createLogger('info'); ${code}`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', stderr],
    timeout: 10_000,
    killSignal: 'SIGKILL',
  });
}

test.runIf(process.platform === 'linux')('neither end the process nor block its end', async () => {
  const full = openSync('/dev/full', 'w');
  const child = run(
    `const written = () => new Promise((resolve) => logger.flush(resolve));
      for (let line = 0; line < 3; line += 1) {
        logger.info('to a full disk');
        await written();
      }
      logger.info('the last one');
      process.stdout.write('alive');
      process.exit(0);`,
    full,
  );
  closeSync(full);
  const [said, [code]] = await Promise.all([text(child.stdout as Readable), once(child, 'exit')]);
  expect([said, code]).toEqual(['alive', 0]);
});

test('lines that cannot be written wait within a bound, and a line has the number of lost ones', async () => {
  const lines = 12_000;
  const child = run(
    `for (let line = 0; line < ${lines}; line += 1) logger.info({ filler: 'x'.repeat(1_000) });
      process.stdout.write('logged');`,
    'pipe',
  );
  await once(child.stdout as Readable, 'data');
  let read = 0;
  let lost = 0;
  for await (const line of createInterface({ input: child.stderr as Readable })) {
    const record = JSON.parse(line) as { readonly lost?: number; readonly filler?: string };
    if (record.filler !== undefined) read += 1;
    lost += record.lost ?? 0;
  }
  expect(lost).toBeGreaterThan(0);
  expect(read + lost).toBe(lines);
});
