import { randomBytes } from 'node:crypto';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { create, toBinary, toJson } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { concatBytes } from '../../../../src/lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { MessageSchema } from '../../../../src/p2p/gen/p2p_pb.js';
import {
  encodeAppRequestHead,
  encodeMessage,
  type PeerMessageInit,
  parseMessage,
} from '../../../../src/p2p/wire/messages.ts';
import { readPeerTranscript } from '../../../vectors/vectors.ts';

const { frames } = readPeerTranscript();

function compressed(value: Uint8Array): Uint8Array {
  return toBinary(MessageSchema, create(MessageSchema, { message: { case: 'compressedZstd', value } }));
}

it('messages of a session with a real node decode as recorded and encode to the same bytes', () => {
  for (const frame of frames) {
    const message = parseMessage(frame.bytes);
    if (message.case === undefined) throw new Error('unexpected message');
    expect(toJson(MessageSchema, create(MessageSchema, { message }))).toEqual(frame.decoded);
    expect(encodeMessage(message)).toEqual(frame.decompressed ?? frame.bytes);
    expect(parseMessage(encodeMessage(message, 'zstd'))).toEqual(message);
  }
});

/** What the library makes of it. */
const decompressed = (frame: Uint8Array): Uint8Array | undefined => {
  try {
    return new Uint8Array(zstdDecompressSync(frame));
  } catch {
    return undefined;
  }
};
const contents = fc.oneof(
  fc.uint8Array({ minLength: 90, maxLength: 255 }),
  fc.uint8Array({ minLength: 256, maxLength: 700 }),
  fc.constantFrom(0, 1, 255, 256, 257, 65_790, 65_791, 65_792).map((length) => randomBytes(length)),
);

it('frames of zstd that store their content are decompressed like the library, with any change', () => {
  const change = fc.record({ at: fc.nat({ max: 15 }), to: fc.nat({ max: 255 }), cut: fc.nat({ max: 2 }) });
  fc.assert(
    fc.property(contents, fc.option(change), (content, changed) => {
      const value = encodeMessage({ case: 'appResponse', value: { appBytes: content } });
      const frame = new Uint8Array(zstdCompressSync(value));
      if (changed !== null) frame[changed.at % frame.length] = changed.to;
      const whole = changed === null ? frame : frame.subarray(0, frame.length - changed.cut);
      const read = (): unknown => parseMessage(compressed(whole));
      const expected = decompressed(whole);
      let message: unknown;
      try {
        message = expected && parseMessage(expected);
      } catch {
        // What was stored is no message any more.
      }
      if (message === undefined) expect(read).toThrow(ParseError);
      else expect(read()).toEqual(message);
    }),
  );
});

it('an AppRequest in two parts is the same bytes as in one', () => {
  const parts = fc.record({
    chainId: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    requestId: fc.integer({ min: 1, max: 0xffff_ffff }),
    deadline: fc.bigInt(1n, 2n ** 64n - 1n),
    appBytes: fc.uint8Array({ minLength: 1, maxLength: 400 }),
  });
  fc.assert(
    fc.property(parts, ({ appBytes, ...head }) => {
      const whole = encodeMessage({ case: 'appRequest', value: { ...head, appBytes } });
      expect(concatBytes(encodeAppRequestHead(head, appBytes.length), appBytes)).toEqual(whole);
    }),
  );
});

it('any bytes are a message or throw a ParseError', () => {
  const any = fc.uint8Array({ maxLength: 300 });
  const damaged = fc
    .tuple(fc.constantFrom(...frames), fc.nat(), fc.nat({ max: 255 }))
    .map(([{ bytes }, at, byte]) => bytes.with(at % bytes.length, byte));
  fc.assert(
    fc.property(fc.oneof(any, any.map(compressed), damaged), (payload) => {
      expect(attempt(() => parseMessage(payload))).toBeDefined();
    }),
    { numRuns: 600 },
  );
});

it('a message above the limit is left unset', () => {
  const message: PeerMessageInit = { case: 'appGossip', value: { appBytes: new Uint8Array(1000) } };
  for (const compression of ['none', 'zstd'] as const) {
    expect(parseMessage(encodeMessage(message, compression), 900).case).toBeUndefined();
    expect(parseMessage(encodeMessage(message, compression), 1100).case).toBe('appGossip');
  }
});

it('the parser rejects nested compression', () => {
  expect(() => parseMessage(compressed(zstdCompressSync(compressed(zstdCompressSync(new Uint8Array(0))))))).toThrow(
    'is compressed twice',
  );
});
