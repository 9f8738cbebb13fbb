import { ByteReader } from '../../lib/encoding/byte-reader.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_PUBLIC_KEY_LENGTH, BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import {
  type ConversionData,
  type ConversionValidator,
  MAX_MANAGER_ADDRESS_LENGTH,
} from '../../warp/conversion-data.ts';
import { type BlockchainID, ID_LENGTH, idFromBytes, type SubnetID } from '../../warp/ids.ts';
import {
  type L1ValidatorWeight,
  MAX_NODE_ID_LENGTH,
  parseL1Message,
  type RegisterL1Validator,
} from '../../warp/l1-message.ts';
import { parseWarpPayload } from '../../warp/payload.ts';
import { parseSignedMessage } from '../../warp/signed-message.ts';
import { MAX_UNSIGNED_MESSAGE_LENGTH } from '../../warp/unsigned-message.ts';

/** P-Chain transaction: one of the three with a Warp message, or any other by its name. */
export type PChainTransaction =
  | { readonly kind: 'ConvertSubnetToL1Tx'; readonly conversion: ConversionData }
  | {
      readonly kind: 'RegisterL1ValidatorTx';
      /** Chain of the L1's validator manager, which sent the message. */
      readonly managerChainID: BlockchainID;
      readonly message: RegisterL1Validator;
    }
  | {
      readonly kind: 'SetL1ValidatorWeightTx';
      readonly managerChainID: BlockchainID;
      readonly message: L1ValidatorWeight;
    }
  | { readonly kind: 'other'; readonly name: string };

/** Transactions with a Warp message. */
export const L1_TRANSACTION_NAMES = ['ConvertSubnetToL1Tx', 'RegisterL1ValidatorTx', 'SetL1ValidatorWeightTx'] as const;

/** Names by type ID (avalanchego `vms/platformvm/txs/codec.go`). */
const TRANSACTION_NAMES: ReadonlyMap<number, string> = new Map([
  [12, 'AddValidatorTx'],
  [13, 'AddSubnetValidatorTx'],
  [14, 'AddDelegatorTx'],
  [15, 'CreateChainTx'],
  [16, 'CreateSubnetTx'],
  [17, 'ImportTx'],
  [18, 'ExportTx'],
  [19, 'AdvanceTimeTx'],
  [20, 'RewardValidatorTx'],
  [23, 'RemoveSubnetValidatorTx'],
  [24, 'TransformSubnetTx'],
  [25, 'AddPermissionlessValidatorTx'],
  [26, 'AddPermissionlessDelegatorTx'],
  [33, 'TransferSubnetOwnershipTx'],
  [34, 'BaseTx'],
  [35, 'ConvertSubnetToL1Tx'],
  [36, 'RegisterL1ValidatorTx'],
  [37, 'SetL1ValidatorWeightTx'],
  [38, 'IncreaseL1ValidatorBalanceTx'],
  [39, 'DisableL1ValidatorTx'],
  // Helicon, v1.15.0.
  [40, 'AddAutoRenewedValidatorTx'],
  [41, 'SetAutoRenewedValidatorConfigTx'],
  [42, 'RewardAutoRenewedValidatorTx'],
]);

const TRANSFER_INPUT = 5;
const TRANSFER_OUTPUT = 7;
const LOCKED_INPUT = 21;
const LOCKED_OUTPUT = 22;
const ADDRESS_LENGTH = 20;
const MAX_MEMO_LENGTH = 64 * 1024;
const MAX_SIGNED_MESSAGE_LENGTH = MAX_UNSIGNED_MESSAGE_LENGTH + 16 * 1024;

/**
 * Parses a signed transaction of `platform.getTx`. Later fields (authorizations and credentials) are not read: the caller knows by the ID
 * that the transaction was accepted.
 *
 * @throws {ParseError}
 */
export function parsePChainTransaction(bytes: Uint8Array): PChainTransaction {
  const reader = new ByteReader(bytes, 'P-Chain transaction');
  reader.codecVersion();
  const typeID = reader.u32('type ID');
  const name = TRANSACTION_NAMES.get(typeID);
  switch (name) {
    case 'ConvertSubnetToL1Tx':
      skipBase(reader);
      return { kind: name, conversion: readConversion(reader) };
    case 'RegisterL1ValidatorTx':
      skipBase(reader);
      reader.u64('balance');
      reader.bytes(BLS_SIGNATURE_LENGTH, 'proofOfPossession');
      return registrationOf(reader.lengthPrefixed(MAX_SIGNED_MESSAGE_LENGTH, 'message'));
    case 'SetL1ValidatorWeightTx':
      skipBase(reader);
      return weightChangeOf(reader.lengthPrefixed(MAX_SIGNED_MESSAGE_LENGTH, 'message'));
    case undefined:
      return { kind: 'other', name: `transaction of the unknown type ${typeID}` };
    default:
      return { kind: 'other', name };
  }
}

/**
 * Parses a signed transaction of `platform.getTx`, of which the ID is that of a blockchain.
 *
 * @returns the subnet of the blockchain that the transaction creates; undefined if it is another transaction
 * @throws {ParseError}
 */
export function parseSubnetOfCreatedChain(bytes: Uint8Array): SubnetID | undefined {
  const reader = new ByteReader(bytes, 'P-Chain transaction');
  reader.codecVersion();
  if (TRANSACTION_NAMES.get(reader.u32('type ID')) !== 'CreateChainTx') return undefined;
  skipBase(reader);
  return idFromBytes<SubnetID>(reader.bytes(ID_LENGTH, 'subnetID'), 'subnetID');
}

/** @param message the signed Warp message in a RegisterL1ValidatorTx @throws {ParseError} */
export function registrationOf(message: Uint8Array): Extract<PChainTransaction, { kind: 'RegisterL1ValidatorTx' }> {
  const { managerChainID, payload } = openMessage(message);
  if (payload.kind !== 'RegisterL1Validator') throw wrongPayload('RegisterL1ValidatorTx', payload.kind);
  return { kind: 'RegisterL1ValidatorTx', managerChainID, message: payload };
}

function weightChangeOf(message: Uint8Array): PChainTransaction {
  const { managerChainID, payload } = openMessage(message);
  if (payload.kind !== 'L1ValidatorWeight') throw wrongPayload('SetL1ValidatorWeightTx', payload.kind);
  return { kind: 'SetL1ValidatorWeightTx', managerChainID, message: payload };
}

/** The P-Chain accepts a message only from the L1's manager chain. */
function openMessage(bytes: Uint8Array) {
  const { unsignedMessage } = parseSignedMessage(bytes);
  const call = parseWarpPayload(unsignedMessage.payload);
  if (call.kind !== 'AddressedCall') throw wrongPayload('the Warp message', call.kind);
  return { managerChainID: unsignedMessage.sourceChainID, payload: parseL1Message(call.payload) };
}

function wrongPayload(what: string, kind: string): ParseError {
  return new ParseError('P-Chain transaction', `${what} holds a ${kind}`);
}

/** Skips network, chain, outputs, inputs and memo. */
function skipBase(reader: ByteReader): void {
  reader.u32('networkID');
  reader.bytes(ID_LENGTH, 'blockchainID');
  repeat(reader, 'outputs', () => {
    reader.bytes(ID_LENGTH, 'assetID');
    let typeID = reader.u32('output type ID');
    if (typeID === LOCKED_OUTPUT) {
      reader.u64('locktime');
      typeID = reader.u32('output type ID');
    }
    if (typeID !== TRANSFER_OUTPUT) throw reader.error(`unknown output type ID ${typeID}`);
    reader.u64('amount');
    reader.u64('locktime');
    skipOwners(reader);
  });
  repeat(reader, 'inputs', () => {
    reader.bytes(ID_LENGTH, 'txID');
    reader.u32('outputIndex');
    reader.bytes(ID_LENGTH, 'assetID');
    let typeID = reader.u32('input type ID');
    if (typeID === LOCKED_INPUT) {
      reader.u64('locktime');
      typeID = reader.u32('input type ID');
    }
    if (typeID !== TRANSFER_INPUT) throw reader.error(`unknown input type ID ${typeID}`);
    reader.u64('amount');
    repeat(reader, 'signatureIndices', () => reader.u32('signatureIndex'));
  });
  reader.lengthPrefixed(MAX_MEMO_LENGTH, 'memo');
}

function readConversion(reader: ByteReader): ConversionData {
  const subnetID = idFromBytes<SubnetID>(reader.bytes(ID_LENGTH, 'subnetID'), 'subnetID');
  const managerChainID = idFromBytes<BlockchainID>(reader.bytes(ID_LENGTH, 'chainID'), 'chainID');
  const managerAddress = reader.lengthPrefixed(MAX_MANAGER_ADDRESS_LENGTH, 'address');
  const validators: ConversionValidator[] = [];
  repeat(reader, 'validators', () => {
    const nodeID = reader.lengthPrefixed(MAX_NODE_ID_LENGTH, 'nodeID');
    const weight = reader.u64('weight');
    reader.u64('balance');
    const blsPublicKey = reader.bytes(BLS_PUBLIC_KEY_LENGTH, 'publicKey');
    reader.bytes(BLS_SIGNATURE_LENGTH, 'proofOfPossession');
    skipOwners(reader);
    skipOwners(reader);
    validators.push({ nodeID, blsPublicKey, weight });
  });
  return { subnetID, managerChainID, managerAddress, validators };
}

function skipOwners(reader: ByteReader): void {
  reader.u32('threshold');
  repeat(reader, 'addresses', () => reader.bytes(ADDRESS_LENGTH, 'address'));
}

function repeat(reader: ByteReader, field: string, readItem: () => void): void {
  const count = reader.u32(field);
  for (let index = 0; index < count; index += 1) readItem();
}
