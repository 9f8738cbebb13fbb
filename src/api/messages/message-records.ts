import { type Static, type TProperties, Type } from 'typebox';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { encodeCb58 } from '../../lib/encoding/cb58.ts';
import { Decimal, inJson, integer, optionalText, text } from '../../lib/encoding/schema.ts';
import { NODE_ID_LENGTH, nodeIDFromBytes } from '../../warp/ids.ts';
import {
  conversionValidationID,
  expiryTime,
  type PChainOwner,
  registrationValidationID,
} from '../../warp/l1-message.ts';
import { CHAIN_ALIASES, PUBLIC_NETWORKS } from '../../warp/networks.ts';
import type { Content, Reading, ReadPayload } from '../../warp/reading.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';

/** Decoded messages: bytes are hex without a prefix, EVM addresses have `0x`, large numbers are decimal strings. */

const Hex = text('Hex, without a prefix');
const Id = text('In cb58');
const Address = text('EVM address, with 0x');

/** One of several kinds, with a name of its own. */
const kind = <const Kind extends string, Fields extends TProperties>(
  name: Kind,
  fields: Fields,
  title: string = name,
) => Type.Object({ kind: Type.Literal(name), ...fields }, { title });

const Owner = Type.Object(
  {
    threshold: integer(),
    addresses: Type.Array(Hex, { description: 'P-Chain addresses, of 20 bytes each' }),
  },
  { title: 'PChainOwner' },
);
const Receipt = Type.Object(
  { receivedMessageNonce: Decimal, relayerRewardAddress: Address },
  { title: 'TeleporterReceipt' },
);

const DecodedContent = Type.Union(
  [
    kind('SubnetToL1Conversion', { conversionId: Id }),
    kind('RegisterL1Validator', {
      validationId: Id,
      subnetId: Id,
      nodeId: text('NodeID; hex if it does not have 20 bytes'),
      blsPublicKey: Hex,
      expiry: text('Unix time in seconds, from which on the P-Chain refuses it'),
      expiryTime: optionalText('The same as a date'),
      remainingBalanceOwner: Owner,
      disableOwner: Owner,
      weight: Decimal,
    }),
    kind('L1ValidatorRegistration', { validationId: Id, registered: Type.Boolean() }),
    kind('L1ValidatorWeight', { validationId: Id, nonce: Decimal, weight: Decimal }),
    kind('ValidatorUptime', { validationId: Id, totalUptime: text('Seconds') }),
    kind('TeleporterMessage', {
      messageNonce: Decimal,
      originSenderAddress: Address,
      destinationBlockchainId: Id,
      destinationAddress: Address,
      requiredGasLimit: Decimal,
      allowedRelayerAddresses: Type.Array(Address),
      receipts: Type.Array(Receipt),
      message: Hex,
    }),
  ],
  { title: 'DecodedContent', description: 'The content of an addressed call' },
);

export const DecodedPayload = Type.Union(
  [
    kind('Hash', { hash: Hex }, 'HashPayload'),
    kind('AddressedCall', {
      sourceAddress: text('In hex; empty if the chain itself is the sender'),
      payload: Hex,
      content: Type.Optional(DecodedContent),
    }),
    kind(
      'unknown',
      { bytes: Hex, reason: text('Why it is no known kind. Validators may sign it anyway') },
      'UnknownPayload',
    ),
  ],
  { title: 'DecodedPayload' },
);

export const MESSAGE = {
  messageId: Id,
  networkId: integer(),
  network: optionalText('The name of a public network'),
  sourceBlockchainId: Id,
  sourceChain: optionalText('P, X or C: a chain of the primary network'),
  payload: DecodedPayload,
};

const DecodedJustification = Type.Union(
  [
    kind('SubnetIDIndex', { subnetId: Id, index: integer(), validationId: Id }),
    kind('RegisterL1ValidatorMessage', {
      message: Hex,
      content: Type.Optional(DecodedContent),
      validationId: Type.Optional(Id),
    }),
  ],
  { title: 'DecodedJustification' },
);

const DecodedSignature = Type.Object(
  {
    signers: Type.Array(integer(), { description: 'Indices in the canonical validator set' }),
    signature: Hex,
  },
  { title: 'DecodedSignature' },
);

const reading = <const As extends string, Fields extends TProperties>(as: As, title: string, fields: Fields) =>
  Type.Object({ as: Type.Literal(as), ...fields }, { title });

export const DecodedReading = Type.Union(
  [
    reading('signedMessage', 'SignedMessageReading', { ...MESSAGE, unsignedMessage: Hex, signature: DecodedSignature }),
    reading('unsignedMessage', 'UnsignedMessageReading', MESSAGE),
    reading('payload', 'PayloadReading', { payload: DecodedPayload }),
    reading('content', 'ContentReading', { content: DecodedContent }),
    reading('justification', 'JustificationReading', { justification: DecodedJustification }),
  ],
  { title: 'DecodedReading' },
);

export const DecodeResult = Type.Object(
  {
    logMessage: Type.Optional(
      text(
        'The message, if data is that of a SendWarpMessage log: the first reading is of it. In hex, without a prefix',
      ),
    ),
    readings: Type.Array(DecodedReading, {
      description: 'The likeliest first. The same bytes may be a valid payload and a valid content',
    }),
  },
  { title: 'DecodeResult', description: 'All readings of the bytes' },
);
export type DecodeResult = Static<typeof DecodeResult>;

type DecodedContent = Static<typeof DecodedContent>;
export type DecodedPayload = Static<typeof DecodedPayload>;
export type DecodedReading = Static<typeof DecodedReading>;

export function presentData(logMessage: Uint8Array | undefined, readings: readonly Reading[]): DecodeResult {
  return {
    ...(logMessage && { logMessage: bytesToHex(logMessage) }),
    readings: readings.map(presentReading),
  };
}

export function presentReading(reading: Reading): DecodedReading {
  switch (reading.as) {
    case 'signedMessage': {
      const { unsignedMessage, signature } = reading.message;
      return {
        as: reading.as,
        ...presentMessage(unsignedMessage, reading.payload),
        unsignedMessage: bytesToHex(unsignedMessage.bytes),
        signature: { signers: [...signature.signers], signature: bytesToHex(signature.signature) },
      };
    }
    case 'unsignedMessage':
      return { as: reading.as, ...presentMessage(reading.message, reading.payload) };
    case 'payload':
      return { as: reading.as, payload: presentPayload(reading.payload) };
    case 'content':
      return { as: reading.as, content: presentContent(reading.content) };
    case 'justification':
      return { as: reading.as, justification: presentJustification(reading) };
  }
}

export function presentMessage({ id, networkID, sourceChainID }: UnsignedMessage, payload: ReadPayload) {
  return inJson({
    messageId: id,
    networkId: networkID,
    network: PUBLIC_NETWORKS.find((known) => known.networkID === networkID)?.name,
    sourceBlockchainId: sourceChainID,
    sourceChain: CHAIN_ALIASES.get(sourceChainID),
    payload: presentPayload(payload),
  });
}

function presentPayload(payload: ReadPayload): DecodedPayload {
  switch (payload.kind) {
    case 'Hash':
      return { kind: payload.kind, hash: bytesToHex(payload.hash) };
    case 'AddressedCall':
      return {
        kind: payload.kind,
        sourceAddress: bytesToHex(payload.sourceAddress),
        payload: bytesToHex(payload.payload),
        ...(payload.content !== undefined && { content: presentContent(payload.content) }),
      };
    case 'unknown':
      return { kind: payload.kind, bytes: bytesToHex(payload.bytes), reason: payload.reason };
  }
}

function presentContent(content: Content): DecodedContent {
  switch (content.kind) {
    case 'SubnetToL1Conversion':
      return { kind: content.kind, conversionId: encodeCb58(content.conversionID) };
    case 'RegisterL1Validator':
      return inJson({
        kind: content.kind,
        validationId: registrationValidationID(content),
        subnetId: content.subnetID,
        nodeId: content.nodeID.length === NODE_ID_LENGTH ? nodeIDFromBytes(content.nodeID) : bytesToHex(content.nodeID),
        blsPublicKey: bytesToHex(content.blsPublicKey),
        expiry: String(content.expiry),
        expiryTime: expiryTime(content),
        remainingBalanceOwner: presentOwner(content.remainingBalanceOwner),
        disableOwner: presentOwner(content.disableOwner),
        weight: String(content.weight),
      });
    case 'L1ValidatorRegistration':
      return { kind: content.kind, validationId: content.validationID, registered: content.registered };
    case 'L1ValidatorWeight':
      return {
        kind: content.kind,
        validationId: content.validationID,
        nonce: String(content.nonce),
        weight: String(content.weight),
      };
    case 'ValidatorUptime':
      return { kind: content.kind, validationId: content.validationID, totalUptime: String(content.totalUptime) };
    case 'TeleporterMessage':
      return {
        kind: content.kind,
        messageNonce: String(content.messageNonce),
        originSenderAddress: address(content.originSenderAddress),
        destinationBlockchainId: content.destinationBlockchainID,
        destinationAddress: address(content.destinationAddress),
        requiredGasLimit: String(content.requiredGasLimit),
        allowedRelayerAddresses: content.allowedRelayerAddresses.map(address),
        receipts: content.receipts.map((receipt) => ({
          receivedMessageNonce: String(receipt.receivedMessageNonce),
          relayerRewardAddress: address(receipt.relayerRewardAddress),
        })),
        message: bytesToHex(content.message),
      };
  }
}

function presentJustification(
  reading: Extract<Reading, { as: 'justification' }>,
): Extract<DecodedReading, { as: 'justification' }>['justification'] {
  const { justification, registration } = reading;
  if (justification.kind === 'SubnetIDIndex') {
    const { kind, subnetID, index } = justification;
    return { kind, subnetId: subnetID, index, validationId: conversionValidationID(subnetID, index) };
  }
  return {
    kind: justification.kind,
    message: bytesToHex(justification.message),
    ...(registration && {
      content: presentContent(registration),
      validationId: registrationValidationID(registration),
    }),
  };
}

function presentOwner({ threshold, addresses }: PChainOwner): Static<typeof Owner> {
  return { threshold, addresses: addresses.map(bytesToHex) };
}

function address(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`;
}
