import { expect, test } from 'vitest';
import all from '../../../vitest.config.ts';
import faults from '../../faults/vitest.config.ts';
import network from '../../network/vitest.config.ts';

test('tests wait at least 20 s for a condition, as a busy machine may need', () => {
  const configs = { all, faults, network };
  for (const [name, config] of Object.entries(configs)) {
    const { expect: waits } = (config as { test: { expect?: { poll?: { timeout?: number } } } }).test;
    expect({ name, timeout: waits?.poll?.timeout ?? 1_000 }).toEqual({ name, timeout: 20_000 });
  }
});
