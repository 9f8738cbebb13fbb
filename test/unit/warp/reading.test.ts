import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeJustification } from '../../../src/warp/justification.ts';
import { encodeL1Message } from '../../../src/warp/l1-message.ts';
import { encodeWarpPayload, MAX_WARP_PAYLOAD_LENGTH } from '../../../src/warp/payload.ts';
import { readAs, readPayload, readWarpBytes } from '../../../src/warp/reading.ts';
import { encodeSignedMessage } from '../../../src/warp/signed-message.ts';
import { encodeTeleporterMessage } from '../../../src/warp/teleporter-message.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { encodeValidatorUptime } from '../../../src/warp/validator-uptime.ts';
import {
  justifications,
  l1Messages,
  registrations,
  signedMessages,
  teleporterMessages,
  unsignedMessages,
  validatorUptimes,
  warpPayloads,
} from './arbitrary-messages.ts';
import { hostileBytes, MANY_RUNS } from './codec-properties.ts';

const contents = fc.oneof(
  l1Messages.map((content) => ({ content, bytes: encodeL1Message(content) })),
  validatorUptimes.map((content) => ({ content, bytes: encodeValidatorUptime(content) })),
  teleporterMessages.map((content) => ({ content, bytes: encodeTeleporterMessage(content) })),
);

/** Calls of chains; one with 28 bytes of a source address has the form of an unsigned message. */
const callsOfChains = warpPayloads.filter((payload) => payload.kind === 'Hash' || payload.sourceAddress.length !== 28);

test('bytes of any form are first decoded in their own form', () => {
  fc.assert(
    fc.property(signedMessages, unsignedMessages, callsOfChains, (signed, unsigned, payload) => {
      const firstOf = (bytes: Uint8Array) => readWarpBytes(bytes).readings[0];
      expect(firstOf(encodeSignedMessage(signed))).toMatchObject({ as: 'signedMessage', message: signed });
      expect(firstOf(unsigned.bytes)).toMatchObject({ as: 'unsignedMessage', message: { id: unsigned.id } });
      expect(firstOf(encodeWarpPayload(payload))).toMatchObject({ as: 'payload', payload });
    }),
  );
  fc.assert(
    fc.property(contents, justifications, ({ content, bytes }, justification) => {
      expect(readWarpBytes(bytes).readings).toContainEqual({ as: 'content', content });
      expect(readWarpBytes(encodeJustification(justification)).readings).toContainEqual(
        expect.objectContaining({ as: 'justification', justification }),
      );
    }),
  );
});

test('bytes of any form never throw, and fail in every form without a reading', () => {
  const encoded = { encode: encodeSignedMessage };
  const bytes = fc.oneof(
    hostileBytes({ ...encoded, parse: () => expect.unreachable() }, signedMessages),
    contents.map((each) => each.bytes.slice(0, -1)),
    fc.uint8Array({ maxLength: 100 }),
  );
  fc.assert(
    fc.property(bytes, (given) => {
      const { readings, failed } = readWarpBytes(given);
      expect(readings.length + failed.length).toBe(5);
      for (const { as } of readings) expect(readAs(as, given).as).toBe(as);
      for (const { as, reason } of failed) expect(() => readAs(as, given)).toThrow(reason);
    }),
    MANY_RUNS,
  );
});

test('a call has its content, and an unknown payload is accepted', () => {
  fc.assert(
    fc.property(contents, ({ content, bytes }) => {
      const payload = encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: new Uint8Array(20), payload: bytes });
      expect(readPayload(payload)).toMatchObject({ kind: 'AddressedCall', content });
    }),
  );
  const unknown = createUnsignedMessage(
    1,
    'yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp' as never,
    Uint8Array.of(9),
  );
  expect(readWarpBytes(unknown.bytes).readings).toMatchObject([
    { as: 'unsignedMessage', payload: { kind: 'unknown', bytes: Uint8Array.of(9) } },
  ]);
});

test('a justification may have as many bytes as a payload', () => {
  const lengthOf = (length: number) =>
    encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: new Uint8Array(length) });
  const rest = lengthOf(MAX_WARP_PAYLOAD_LENGTH - 100).length - (MAX_WARP_PAYLOAD_LENGTH - 100);
  const longest = lengthOf(MAX_WARP_PAYLOAD_LENGTH - rest);
  expect(longest).toHaveLength(MAX_WARP_PAYLOAD_LENGTH);
  expect(readAs('justification', longest)).toMatchObject({ registration: undefined });
  expect(() => readAs('justification', lengthOf(MAX_WARP_PAYLOAD_LENGTH - rest + 1))).toThrow('at most');
});

test('a justification has its registration', () => {
  fc.assert(
    fc.property(registrations, (registration) => {
      const bytes = encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: encodeL1Message(registration) });
      expect(readAs('justification', bytes)).toMatchObject({ registration });
    }),
  );
});
