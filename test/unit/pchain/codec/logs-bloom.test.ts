import { expect, test } from 'vitest';
import { logsBloomOf, mayMissWarpLogs } from '../../../../src/pchain/codec/logs-bloom.ts';
import { SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../../../../src/pchain/codec/send-warp-log.ts';

const WARP_LOG = { address: WARP_PRECOMPILE, topics: [SEND_WARP_MESSAGE] };
const OTHER_LOG = { address: `0x${'5a'.repeat(20)}`, topics: [`0x${'01'.repeat(32)}`] };

test('the bloom filter is that of the yellow paper', () => {
  // keccak256 of 20 zeros is 5380c7b7ae81a58e…: bits 0x380, 0x7b7, 0x681.
  const bloom = logsBloomOf([{ address: `0x${'00'.repeat(20)}`, topics: [] }]);
  const bits = [...BigInt(bloom).toString(2)].reverse().flatMap((bit, index) => (bit === '1' ? [index] : []));
  expect(bits).toEqual([0x380, 0x681, 0x7b7].toSorted((a, b) => a - b));
});

test.each([
  ['no logs yet', [WARP_LOG, OTHER_LOG], [], true],
  ['a part of its logs', [WARP_LOG, OTHER_LOG], [OTHER_LOG], true],
  ['all of its logs', [WARP_LOG, OTHER_LOG], [WARP_LOG, OTHER_LOG], false],
  ['no logs, and no Warp message', [OTHER_LOG], [], false],
])('a receipt with %s', (_, logged, given, expected) => {
  expect(mayMissWarpLogs(logsBloomOf(logged), given)).toBe(expected);
});

test('a receipt without a bloom filter is complete, and one whose filter seems to have a Warp message has all its logs', () => {
  expect(mayMissWarpLogs(undefined, [])).toBe(false);
  const many = Array.from({ length: 2_000 }, (_, index) => ({
    address: `0x${String(index).padStart(40, '0')}`,
    topics: [`0x${String(index).padStart(64, '0')}`],
  }));
  expect(mayMissWarpLogs(logsBloomOf(many), many)).toBe(false);
});
