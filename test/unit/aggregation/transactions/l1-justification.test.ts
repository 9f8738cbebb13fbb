import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createPChainMessage,
  findConversionValidator,
  recognizeJustification,
  unwrapJustification,
} from '../../../../src/aggregation/transactions/l1-justification.ts';
import { type BlockchainID, idBytes, idFromBytes, P_CHAIN_ID, type SubnetID } from '../../../../src/warp/ids.ts';
import { encodeJustification } from '../../../../src/warp/justification.ts';
import {
  conversionValidationID,
  encodeL1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from '../../../../src/warp/l1-message.ts';
import { encodeWarpPayload } from '../../../../src/warp/payload.ts';
import { encodeSignedMessage } from '../../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { readCase } from '../../../vectors/vectors.ts';
import { registrations } from '../../warp/arbitrary-messages.ts';

const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(5), 'chain');
const SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(6), 'subnet');

/** Every form in which clients hold a registration. */
function wrappings(message: RegisterL1Validator): Uint8Array[] {
  const payload = encodeL1Message(message);
  const call = encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: new Uint8Array(20), payload });
  const unsignedMessage = createUnsignedMessage(5, CHAIN, call);
  const signature = { signers: [0, 3], signature: new Uint8Array(96) };
  const plain = [payload, call, unsignedMessage.bytes, encodeSignedMessage({ unsignedMessage, signature })];
  return [
    ...plain,
    ...plain.map((bytes) => encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: bytes })),
  ];
}

describe('a justification is recognized', () => {
  test('as a registration, in whatever it is wrapped', () => {
    fc.assert(
      fc.property(registrations, (message) => {
        const justification = { kind: 'RegisterL1ValidatorMessage', message: encodeL1Message(message) };
        const validationID = registrationValidationID(message);
        for (const bytes of wrappings(message)) {
          expect(recognizeJustification(bytes)).toEqual({
            kind: 'validation',
            validationID,
            subnetID: message.subnetID,
            justification,
          });
        }
      }),
    );
  });

  test('as a validator of a conversion', () => {
    const justification = { kind: 'SubnetIDIndex', subnetID: SUBNET, index: 7 } as const;
    expect(recognizeJustification(encodeJustification(justification))).toEqual({
      kind: 'validation',
      validationID: conversionValidationID(SUBNET, 7),
      subnetID: SUBNET,
      justification,
    });
  });

  test('as a subnet ID, whatever its bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        expect(recognizeJustification(bytes)).toEqual({ kind: 'subnet', subnetID: idFromBytes(bytes, 'subnet') });
      }),
    );
  });

  test('or is none of these: undefined, and never an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        if (bytes.length !== 32) expect(recognizeJustification(bytes)?.kind).not.toBe('subnet');
      }),
    );
    const weight = encodeL1Message({
      kind: 'L1ValidatorWeight',
      validationID: conversionValidationID(SUBNET, 0),
      nonce: 0n,
      weight: 1n,
    });
    expect(recognizeJustification(weight)).toBeUndefined();
    expect(recognizeJustification(readCase('c_warp_0').unsignedMessage)).toBeUndefined();
  });
});

describe('beside a message', () => {
  const validationID = conversionValidationID(SUBNET, 0);
  const over = createPChainMessage(5, { kind: 'L1ValidatorRegistration', validationID, registered: false });

  test('a registration is unwrapped for the message that the validation is over', () => {
    fc.assert(
      fc.property(registrations, (message) => {
        const expected = encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: encodeL1Message(message) });
        for (const bytes of wrappings(message)) expect(unwrapJustification(over, bytes)).toEqual(expected);
      }),
      { numRuns: 20 },
    );
  });

  test('everything else goes to the validators as it came', () => {
    fc.assert(
      fc.property(registrations, fc.uint8Array({ maxLength: 60 }), (message, other) => {
        const others = [
          createUnsignedMessage(5, CHAIN, over.payload),
          createUnsignedMessage(5, P_CHAIN_ID, Uint8Array.of(1)),
          createPChainMessage(5, { kind: 'L1ValidatorRegistration', validationID, registered: true }),
          createPChainMessage(5, { kind: 'SubnetToL1Conversion', conversionID: new Uint8Array(32) }),
        ];
        for (const unsigned of others) {
          for (const bytes of [other, ...wrappings(message)]) expect(unwrapJustification(unsigned, bytes)).toBe(bytes);
        }
        expect(unwrapJustification(over, new Uint8Array())).toHaveLength(0);
        expect(unwrapJustification(over, idBytes(SUBNET))).toEqual(idBytes(SUBNET));
      }),
      { numRuns: 20 },
    );
  });
});

test('a validator of a conversion is found by its index', () => {
  for (const index of [0, 1, 255, 2_047]) {
    const found = findConversionValidator(SUBNET, conversionValidationID(SUBNET, index));
    expect(found).toEqual({ kind: 'SubnetIDIndex', subnetID: SUBNET, index });
  }
});
