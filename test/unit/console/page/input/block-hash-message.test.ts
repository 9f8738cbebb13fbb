import { expect, test } from 'vitest';
import { blockHashMessage } from '../../../../../src/console/page/input/block-hash-message.ts';
import { bytesToHex, prefixedHex } from '../../../../../src/lib/encoding/bytes.ts';
import { type BlockchainID, idFromBytes } from '../../../../../src/warp/ids.ts';
import { encodeWarpPayload } from '../../../../../src/warp/payload.ts';
import { createUnsignedMessage } from '../../../../../src/warp/unsigned-message.ts';

test('the message of a block hash is that of the same network and chain as the message in the block', () => {
  const chain = idFromBytes<BlockchainID>(new Uint8Array(32).fill(7), 'chain');
  const hash = new Uint8Array(32).fill(0xab);
  const emitted = createUnsignedMessage(1337, chain, Buffer.from('anything'));
  const { bytes } = createUnsignedMessage(1337, chain, encodeWarpPayload({ kind: 'Hash', hash }));
  for (const hex of [bytesToHex(emitted.bytes), prefixedHex(emitted.bytes)]) {
    expect(blockHashMessage(hex, prefixedHex(hash))).toBe(prefixedHex(bytes));
  }
});
