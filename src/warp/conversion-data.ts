import { sha256 } from '@noble/hashes/sha2.js';
import { ByteReader } from '../primitives/byte-reader.ts';
import { ByteWriter } from '../primitives/byte-writer.ts';
import { type BlockchainID, ID_LENGTH, idBytes, idFromBytes, type SubnetID } from '../primitives/ids.ts';
import { BLS_PUBLIC_KEY_LENGTH, MAX_NODE_ID_LENGTH } from './l1-message.ts';

/**
 * What a ConvertSubnetToL1Tx says of the L1, in the form whose hash is the conversion ID (ACP-77):
 * `u16 0 · subnetID · managerChainID · u32 len managerAddress · u32 count · validators{u32 len nodeID · 48 BLS key · u64 weight}`.
 */
export interface ConversionData {
  readonly subnetID: SubnetID;
  readonly managerChainID: BlockchainID;
  readonly managerAddress: Uint8Array;
  readonly validators: readonly ConversionValidator[];
}

export interface ConversionValidator {
  readonly nodeID: Uint8Array;
  /** 48 bytes, compressed G1. */
  readonly blsPublicKey: Uint8Array;
  readonly weight: bigint;
}

/** Managers are 20-byte contract addresses; `MaxSubnetAddressLength` of the reference is 4,096. */
export const MAX_MANAGER_ADDRESS_LENGTH = 4096;
/** An empty node ID, a key and a weight. */
const MIN_VALIDATOR_LENGTH = 4 + BLS_PUBLIC_KEY_LENGTH + 8;

export function encodeConversionData(data: ConversionData): Uint8Array {
  const writer = new ByteWriter()
    .u16(0)
    .bytes(idBytes(data.subnetID))
    .bytes(idBytes(data.managerChainID))
    .lengthPrefixed(data.managerAddress)
    .u32(data.validators.length);
  for (const { nodeID, blsPublicKey, weight } of data.validators) {
    writer.lengthPrefixed(nodeID).fixedBytes(blsPublicKey, BLS_PUBLIC_KEY_LENGTH).u64(weight);
  }
  return writer.finish();
}

/** @throws {ParseError} */
export function parseConversionData(bytes: Uint8Array): ConversionData {
  const reader = new ByteReader(bytes, 'conversion data');
  reader.codecVersion();
  const subnetID = idFromBytes<SubnetID>(reader.bytes(ID_LENGTH, 'subnetID'), 'subnetID');
  const managerChainID = idFromBytes<BlockchainID>(reader.bytes(ID_LENGTH, 'managerChainID'), 'managerChainID');
  const managerAddress = reader.lengthPrefixed(MAX_MANAGER_ADDRESS_LENGTH, 'managerAddress');
  const count = reader.u32('validators');
  if (count * MIN_VALIDATOR_LENGTH > reader.remaining) throw reader.error(`${count} validators, more than fit`);
  const validators = Array.from({ length: count }, () => ({
    nodeID: reader.lengthPrefixed(MAX_NODE_ID_LENGTH, 'nodeID'),
    blsPublicKey: reader.bytes(BLS_PUBLIC_KEY_LENGTH, 'blsPublicKey'),
    weight: reader.u64('weight'),
  }));
  reader.end();
  return { subnetID, managerChainID, managerAddress, validators };
}

/** The 32 bytes that a SubnetToL1Conversion message carries: sha256 of the conversion data. */
export function conversionID(data: ConversionData): Uint8Array {
  return sha256(encodeConversionData(data));
}
