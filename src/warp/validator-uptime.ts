import { ByteReader } from '../lib/encoding/byte-reader.ts';
import { ByteWriter } from '../lib/encoding/byte-writer.ts';
import { type BlockchainID, ID_LENGTH, idBytes, idFromBytes, type ValidationID } from './ids.ts';
import { createSourcelessCall } from './payload.ts';
import { createUnsignedMessage, type UnsignedMessage } from './unsigned-message.ts';

/**
 * `u16 0 · u32 0 · 32 validationID · u64 totalUptime`: a lower bound of an L1 validator's uptime (avalanchego
 * `graft/subnet-evm/warp/messages`). Nodes of the L1's chain sign it if their own figure is at least as high.
 */
export interface ValidatorUptime {
  readonly kind: 'ValidatorUptime';
  readonly validationID: ValidationID;
  /** Seconds. */
  readonly totalUptime: bigint;
}

const VALIDATOR_UPTIME_TYPE_ID = 0;

export function encodeValidatorUptime({ validationID, totalUptime }: Omit<ValidatorUptime, 'kind'>): Uint8Array {
  return new ByteWriter().u16(0).u32(VALIDATOR_UPTIME_TYPE_ID).bytes(idBytes(validationID)).u64(totalUptime).finish();
}

/** @throws {ParseError} */
export function parseValidatorUptime(bytes: Uint8Array): ValidatorUptime {
  const reader = new ByteReader(bytes, 'ValidatorUptime');
  reader.codecVersion();
  reader.expectU32(VALIDATOR_UPTIME_TYPE_ID, 'type ID');
  const validationID = idFromBytes<ValidationID>(reader.bytes(ID_LENGTH, 'validationID'), 'validationID');
  const totalUptime = reader.u64('totalUptime');
  reader.end();
  return { kind: 'ValidatorUptime', validationID, totalUptime };
}

/** Creates the message of the L1's chain, which no transaction emits. */
export function createUptimeMessage(
  networkID: number,
  blockchainID: BlockchainID,
  uptime: Omit<ValidatorUptime, 'kind'>,
): UnsignedMessage {
  return createUnsignedMessage(networkID, blockchainID, createSourcelessCall(encodeValidatorUptime(uptime)));
}
