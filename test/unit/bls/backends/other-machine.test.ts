import { expect, test, vi } from 'vitest';
import { loadBackend } from '../../../../src/bls/backends/load-backend.ts';
import { plainBackend } from '../../../../src/bls/backends/plain-backend.ts';
import { isFused } from '../../../../src/bls/field/fused-field.ts';

test('a machine without fused multiply-add computes with noble alone', async () => {
  // Node without WebAssembly has the same result.
  vi.stubGlobal('WebAssembly', undefined);
  expect(isFused()).toBe(false);
  expect(await loadBackend('noble')).toBe(plainBackend);
});
