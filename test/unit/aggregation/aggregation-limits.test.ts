import { expect, test } from 'vitest';
import { aggregationLimits } from '../../../src/aggregation/aggregation-limits.ts';

test('cache sizes follow the setting signatureCacheSize', () => {
  const sizesOf = (signatureCacheSize: number) => aggregationLimits({ requestTimeoutMs: 10_000, signatureCacheSize });
  expect(sizesOf(200_000)).toMatchObject({ signatureCachePerSigner: 10_000, resultCacheBytes: 16_000_000 });
  expect(sizesOf(1)).toMatchObject({ signatureCachePerSigner: 1, resultCacheBytes: 1_048_576 });
});
