import { sha256 } from '@noble/hashes/sha2.js';
import { ByteReader } from '../lib/encoding/byte-reader.ts';
import { ByteWriter } from '../lib/encoding/byte-writer.ts';
import { BLS_PUBLIC_KEY_LENGTH } from './bls-lengths.ts';
import { ID_LENGTH, idBytes, idFromBytes, type SubnetID, type ValidationID } from './ids.ts';

/** Payloads of addressed calls between L1s and the P-Chain (avalanchego `vms/platformvm/warp/message`, ACP-77). */
export type L1Message = SubnetToL1Conversion | RegisterL1Validator | L1ValidatorRegistration | L1ValidatorWeight;

/** P-Chain to L1: the subnet was converted to an L1 with this data. */
export interface SubnetToL1Conversion {
  readonly kind: 'SubnetToL1Conversion';
  /** sha256 of the conversion data, see `conversion-data.ts`. */
  readonly conversionID: Uint8Array;
}

/** L1 to P-Chain: register this validator. */
export interface RegisterL1Validator {
  readonly kind: 'RegisterL1Validator';
  readonly subnetID: SubnetID;
  /** 20 bytes, but the encoding allows other lengths. */
  readonly nodeID: Uint8Array;
  /** 48 bytes, compressed G1. */
  readonly blsPublicKey: Uint8Array;
  /** Unix seconds. */
  readonly expiry: bigint;
  readonly remainingBalanceOwner: PChainOwner;
  readonly disableOwner: PChainOwner;
  readonly weight: bigint;
}

/** P-Chain to L1: the validation exists, or it does not and never will. */
export interface L1ValidatorRegistration {
  readonly kind: 'L1ValidatorRegistration';
  readonly validationID: ValidationID;
  readonly registered: boolean;
}

/** In both directions: the validator's weight as of a nonce. */
export interface L1ValidatorWeight {
  readonly kind: 'L1ValidatorWeight';
  readonly validationID: ValidationID;
  readonly nonce: bigint;
  readonly weight: bigint;
}

export interface PChainOwner {
  readonly threshold: number;
  /** 20 bytes each. */
  readonly addresses: readonly Uint8Array[];
}

const SUBNET_TO_L1_CONVERSION_TYPE_ID = 0;
const REGISTER_L1_VALIDATOR_TYPE_ID = 1;
const L1_VALIDATOR_REGISTRATION_TYPE_ID = 2;
const L1_VALIDATOR_WEIGHT_TYPE_ID = 3;

const ADDRESS_LENGTH = 20;
/** Node IDs have 20 bytes today; this bounds the memory. */
export const MAX_NODE_ID_LENGTH = 1024;

export function encodeL1Message(message: L1Message): Uint8Array {
  const writer = new ByteWriter().u16(0);
  switch (message.kind) {
    case 'SubnetToL1Conversion':
      return writer.u32(SUBNET_TO_L1_CONVERSION_TYPE_ID).fixedBytes(message.conversionID, ID_LENGTH).finish();
    case 'RegisterL1Validator':
      writer
        .u32(REGISTER_L1_VALIDATOR_TYPE_ID)
        .bytes(idBytes(message.subnetID))
        .lengthPrefixed(message.nodeID)
        .fixedBytes(message.blsPublicKey, BLS_PUBLIC_KEY_LENGTH)
        .u64(message.expiry);
      writeOwner(writer, message.remainingBalanceOwner);
      writeOwner(writer, message.disableOwner);
      return writer.u64(message.weight).finish();
    case 'L1ValidatorRegistration':
      return writer
        .u32(L1_VALIDATOR_REGISTRATION_TYPE_ID)
        .bytes(idBytes(message.validationID))
        .u8(message.registered ? 1 : 0)
        .finish();
    case 'L1ValidatorWeight':
      return writer
        .u32(L1_VALIDATOR_WEIGHT_TYPE_ID)
        .bytes(idBytes(message.validationID))
        .u64(message.nonce)
        .u64(message.weight)
        .finish();
  }
}

export function parseL1Message(bytes: Uint8Array): L1Message {
  const reader = new ByteReader(bytes, 'L1 message');
  reader.codecVersion();
  const message = readBody(reader, reader.u32('type ID'));
  reader.end();
  return message;
}

/** Returns the validation ID of a registered validator: sha256 of its RegisterL1Validator bytes. */
export function registrationValidationID(message: RegisterL1Validator): ValidationID {
  return idFromBytes<ValidationID>(sha256(encodeL1Message(message)), 'validationID');
}

/** Returns the validation ID of a validator in the conversion: sha256(subnetID · `u32` index). */
export function conversionValidationID(subnetID: SubnetID, index: number): ValidationID {
  return idFromBytes<ValidationID>(hashConversionValidator(idBytes(subnetID), index), 'validationID');
}

/** Returns the bytes of {@link conversionValidationID}, for callers that try many indices: encoding the text would cost more. */
export function hashConversionValidator(subnetID: Uint8Array, index: number): Uint8Array {
  return sha256(new ByteWriter().bytes(subnetID).u32(index).finish());
}

function readBody(reader: ByteReader, typeID: number): L1Message {
  switch (typeID) {
    case SUBNET_TO_L1_CONVERSION_TYPE_ID:
      return { kind: 'SubnetToL1Conversion', conversionID: reader.bytes(ID_LENGTH, 'conversionID') };
    case REGISTER_L1_VALIDATOR_TYPE_ID:
      return {
        kind: 'RegisterL1Validator',
        subnetID: idFromBytes<SubnetID>(reader.bytes(ID_LENGTH, 'subnetID'), 'subnetID'),
        nodeID: reader.lengthPrefixed(MAX_NODE_ID_LENGTH, 'nodeID'),
        blsPublicKey: reader.bytes(BLS_PUBLIC_KEY_LENGTH, 'blsPublicKey'),
        expiry: reader.u64('expiry'),
        remainingBalanceOwner: readOwner(reader, 'remainingBalanceOwner'),
        disableOwner: readOwner(reader, 'disableOwner'),
        weight: reader.u64('weight'),
      };
    case L1_VALIDATOR_REGISTRATION_TYPE_ID: {
      const validationID = readValidationID(reader);
      const registered = reader.u8('registered');
      if (registered > 1) throw reader.error(`registered is ${registered}, expected 0 or 1`);
      return { kind: 'L1ValidatorRegistration', validationID, registered: registered === 1 };
    }
    case L1_VALIDATOR_WEIGHT_TYPE_ID:
      return {
        kind: 'L1ValidatorWeight',
        validationID: readValidationID(reader),
        nonce: reader.u64('nonce'),
        weight: reader.u64('weight'),
      };
    default:
      throw reader.error(`unknown type ID ${typeID}`);
  }
}

function readValidationID(reader: ByteReader): ValidationID {
  return idFromBytes<ValidationID>(reader.bytes(ID_LENGTH, 'validationID'), 'validationID');
}

function readOwner(reader: ByteReader, field: string): PChainOwner {
  const threshold = reader.u32(`${field}.threshold`);
  const count = reader.u32(`${field}.addresses`);
  // Checked before addresses are read, so that a huge count costs nothing.
  if (count * ADDRESS_LENGTH > reader.remaining) throw reader.error(`${field} has ${count} addresses, more than fit`);
  const addresses = Array.from({ length: count }, () => reader.bytes(ADDRESS_LENGTH, `${field}.addresses`));
  return { threshold, addresses };
}

function writeOwner(writer: ByteWriter, owner: PChainOwner): void {
  writer.u32(owner.threshold).u32(owner.addresses.length);
  for (const address of owner.addresses) writer.fixedBytes(address, ADDRESS_LENGTH);
}

type WithExpiry = Pick<RegisterL1Validator, 'expiry'>;

/** The last time of a `Date`, in Unix milliseconds. */
const LAST_UNIX_MS = 8_640_000_000_000_000;

/** Whether the P-Chain refuses a registration because its expiry is over; its own time lags behind until its next block. */
export function isExpired({ expiry }: WithExpiry, nowMs: number): boolean {
  return Number(expiry) * 1_000 <= nowMs;
}

/** Returns the milliseconds until the P-Chain refuses a registration; negative afterwards. */
export function msUntilExpiry({ expiry }: WithExpiry, nowMs: number): number {
  return Number(expiry) * 1_000 - nowMs;
}

/** Returns the expiry as a date of ISO 8601; undefined if it is beyond all dates: the creator of a message chooses any uint64. */
export function expiryTime({ expiry }: WithExpiry): string | undefined {
  const unixMs = Number(expiry) * 1_000;
  return unixMs <= LAST_UNIX_MS ? new Date(unixMs).toISOString().replace('.000Z', 'Z') : undefined;
}

/** Returns the expiry for people: the date, and the Unix time in seconds. */
export function describeExpiry(registration: WithExpiry): string {
  const time = expiryTime(registration);
  return time === undefined ? `Unix time ${registration.expiry}` : `${time} (Unix time ${registration.expiry})`;
}
