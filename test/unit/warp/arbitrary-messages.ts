import fc from 'fast-check';
import { type BlockchainID, idFromBytes, type SubnetID, type ValidationID } from '../../../src/warp/ids.ts';
import type { L1ValidatorRegistrationJustification } from '../../../src/warp/justification.ts';
import type { L1Message, PChainOwner } from '../../../src/warp/l1-message.ts';
import type { WarpPayload } from '../../../src/warp/payload.ts';
import type { SignatureRequest } from '../../../src/warp/signature-request.ts';
import type { SignedMessage } from '../../../src/warp/signed-message.ts';
import type { TeleporterMessage } from '../../../src/warp/teleporter-message.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import type { ValidatorUptime } from '../../../src/warp/validator-uptime.ts';

const u32 = fc.oneof(fc.nat(0xffff_ffff), fc.constantFrom(0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff));
const u64 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(0n, 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n),
);

export function fixedBytes(length: number): fc.Arbitrary<Uint8Array> {
  const random = fc.uint8Array({ minLength: length, maxLength: length });
  return fc.oneof(
    random,
    fc.constantFrom(0, 0xff).map((value) => new Uint8Array(length).fill(value)),
  );
}

function id<T extends BlockchainID | SubnetID | ValidationID>(): fc.Arbitrary<T> {
  return fixedBytes(32).map((bytes) => idFromBytes<T>(bytes, 'ID'));
}

const shortBytes = fc.uint8Array({ maxLength: 60 });

export const unsignedMessages: fc.Arbitrary<UnsignedMessage> = fc
  .tuple(u32, id<BlockchainID>(), fc.uint8Array({ maxLength: 200 }))
  .map(([networkID, sourceChainID, payload]) => createUnsignedMessage(networkID, sourceChainID, payload));

export const signedMessages: fc.Arbitrary<SignedMessage> = fc.record({
  unsignedMessage: unsignedMessages,
  signature: fc.record({
    signers: fc
      .uniqueArray(fc.oneof(fc.nat(20), fc.nat(2000)), { maxLength: 30 })
      .map((indices) => indices.toSorted((a, b) => a - b)),
    signature: fixedBytes(96),
  }),
});

export const warpPayloads: fc.Arbitrary<WarpPayload> = fc.oneof(
  fc.record({ kind: fc.constant('Hash' as const), hash: fixedBytes(32) }),
  fc.record({ kind: fc.constant('AddressedCall' as const), sourceAddress: shortBytes, payload: shortBytes }),
);

const owners: fc.Arbitrary<PChainOwner> = fc.record({
  threshold: u32,
  addresses: fc.array(fixedBytes(20), { maxLength: 4 }),
});

export const registrations = fc.record({
  kind: fc.constant('RegisterL1Validator' as const),
  subnetID: id<SubnetID>(),
  nodeID: fc.oneof(fixedBytes(20), shortBytes),
  blsPublicKey: fixedBytes(48),
  expiry: u64,
  remainingBalanceOwner: owners,
  disableOwner: owners,
  weight: u64,
});

export const l1Messages: fc.Arbitrary<L1Message> = fc.oneof(
  fc.record({ kind: fc.constant('SubnetToL1Conversion' as const), conversionID: fixedBytes(32) }),
  registrations,
  fc.record({
    kind: fc.constant('L1ValidatorRegistration' as const),
    validationID: id<ValidationID>(),
    registered: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('L1ValidatorWeight' as const),
    validationID: id<ValidationID>(),
    nonce: u64,
    weight: u64,
  }),
);

export const justifications: fc.Arbitrary<L1ValidatorRegistrationJustification> = fc.oneof(
  fc.record({ kind: fc.constant('SubnetIDIndex' as const), subnetID: id<SubnetID>(), index: u32 }),
  fc.record({ kind: fc.constant('RegisterL1ValidatorMessage' as const), message: shortBytes }),
);

export const signatureRequests: fc.Arbitrary<SignatureRequest> = fc.record({
  message: shortBytes,
  justification: shortBytes,
});

export const validatorUptimes: fc.Arbitrary<ValidatorUptime> = fc.record({
  kind: fc.constant('ValidatorUptime' as const),
  validationID: id<ValidationID>(),
  totalUptime: u64,
});

const u256 = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.constantFrom(0n, 1n, 2n ** 256n - 1n));

export const teleporterMessages: fc.Arbitrary<TeleporterMessage> = fc.record({
  kind: fc.constant('TeleporterMessage' as const),
  messageNonce: u256,
  originSenderAddress: fixedBytes(20),
  destinationBlockchainID: id<BlockchainID>(),
  destinationAddress: fixedBytes(20),
  requiredGasLimit: u256,
  allowedRelayerAddresses: fc.array(fixedBytes(20), { maxLength: 3 }),
  receipts: fc.array(fc.record({ receivedMessageNonce: u256, relayerRewardAddress: fixedBytes(20) }), { maxLength: 3 }),
  message: fc.uint8Array({ maxLength: 100 }),
});
