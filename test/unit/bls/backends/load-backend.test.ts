import { expect, test } from 'vitest';
import { BACKEND_NAMES, backendShape, loadBackend } from '../../../../src/bls/backends/load-backend.ts';

test.each(BACKEND_NAMES)('what the event loop is told of %s is true', async (name) => {
  const { packedPublicKeyBytes } = await loadBackend(name);
  expect((await backendShape(name)).packedPublicKeyBytes).toBe(packedPublicKeyBytes);
});
