import { expect, test } from 'vitest';
import { createInterrupt } from '../../../../src/cli/io/interrupt.ts';

test('the first SIGINT stops, further ones of the same second change nothing, later ones end at once', () => {
  let now = 5_000;
  const interrupt = createInterrupt(() => now);
  const at = (ms: number) => {
    now = 5_000 + ms;
    return interrupt();
  };
  expect([0, 2, 999, 1_000, 1_001].map(at)).toEqual(['stop', 'ignore', 'ignore', 'exit', 'exit']);
});
