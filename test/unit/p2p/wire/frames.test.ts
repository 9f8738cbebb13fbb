import fc from 'fast-check';
import { expect, it } from 'vitest';
import { concatBytes } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { encodeFrame, FrameDecoder, MAX_FRAME_LENGTH } from '../../../../src/p2p/wire/frames.ts';

function split(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length].map((end, index) => bytes.subarray(at[index - 1] ?? 0, end));
}

it('the decoder returns the payloads for any chunks', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 600 }), { maxLength: 8 }),
      fc.array(fc.nat({ max: 5000 }), { maxLength: 40 }),
      (payloads, cuts) => {
        const decoder = new FrameDecoder();
        const stream = concatBytes(...payloads.map((payload) => encodeFrame(payload)));
        expect(split(stream, cuts).flatMap((chunk) => decoder.push(chunk))).toEqual(payloads);
      },
    ),
  );
});

it('the decoder copies the chunk, which belongs to the socket', () => {
  const chunk = Buffer.from(encodeFrame(Uint8Array.of(1, 2, 3)));
  const [payload] = new FrameDecoder().push(chunk);
  chunk.fill(0);
  expect(payload).toEqual(Uint8Array.of(1, 2, 3));
});

it('the decoder accepts the longest frame and rejects the next length, also with a split header', () => {
  const longest = new Uint8Array(MAX_FRAME_LENGTH).fill(9);
  const decoder = new FrameDecoder();
  const frame = encodeFrame(longest);
  expect(decoder.push(frame.subarray(0, 70_000))).toEqual([]);
  const [payload] = decoder.push(frame.subarray(70_000));
  expect(payload?.length).toBe(MAX_FRAME_LENGTH);

  expect(() => encodeFrame(new Uint8Array(MAX_FRAME_LENGTH + 1))).toThrow(RangeError);
  const tooLong = new Uint8Array(4);
  new DataView(tooLong.buffer).setUint32(0, MAX_FRAME_LENGTH + 1);
  expect(() => new FrameDecoder().push(tooLong)).toThrow(ParseError);
  const halved = new FrameDecoder();
  halved.push(tooLong.subarray(0, 2));
  expect(() => halved.push(tooLong.subarray(2))).toThrow(ParseError);
});
