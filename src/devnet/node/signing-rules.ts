import { fromBinary } from '@bufbuild/protobuf';
import { bytesToHex, equalBytes } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { L1ValidatorRegistrationJustificationSchema } from '../../warp/gen/platformvm_pb.js';
import { ID_LENGTH, idFromBytes, type NodeID, type SubnetID, type ValidationID } from '../../warp/ids.ts';
import {
  conversionValidationID,
  type L1Message,
  type L1ValidatorRegistration,
  type L1ValidatorWeight,
  parseL1Message,
  registrationValidationID,
  type SubnetToL1Conversion,
} from '../../warp/l1-message.ts';
import { type AddressedCall, parseWarpPayload, type WarpPayload } from '../../warp/payload.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { parseValidatorUptime } from '../../warp/validator-uptime.ts';
import type { NetworkModel } from '../network-model.ts';
import type { EvmChain } from '../pchain/evm-chain.ts';

/** Code and text of the AppError of a validator that does not sign. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
}

/** State of the P-Chain that decides whether its validators sign a message. */
type PlatformView = Pick<NetworkModel, 'conversionID' | 'l1Validator' | 'wasRegistered' | 'timestamp'>;

/** Codes of ACP-118's handler, the same on every chain (avalanchego `network/p2p/error.go`). */
export const UNEXPECTED = -1;
export const UNREGISTERED_HANDLER = -2;
export const THROTTLED = -4;

/** Codes of subnet-evm (`graft/subnet-evm/warp`), and of the C-Chain before Helicon. */
const EVM_PARSE = 1;
const EVM_VERIFY = 2;
/** Codes of the C-Chain since Helicon; 1 means that the node's storage failed. */
const C_CHAIN_PARSE = 2;
const C_CHAIN_UNKNOWN_MESSAGE = 3;
const C_CHAIN_BLOCK_NOT_ACCEPTED = 4;

/** Node that received the request. */
export interface AskedNode {
  readonly nodeID?: NodeID;
  /** Its own execution lag, in place of the chain's. */
  readonly executionLagMs?: number | undefined;
}

/** Returns why a node of an EVM chain refuses to sign a message; undefined if it signs. The justification is ignored. */
export function verifyEvmMessage(chain: EvmChain, message: UnsignedMessage, node: AskedNode = {}): Refusal | undefined {
  if (chain.hasEmitted(message, chain.vm === 'coreth' ? node.executionLagMs : undefined)) return undefined;
  const payload = attempt(() => parseWarpPayload(message.payload));
  const codes =
    chain.vm === 'coreth'
      ? { parse: C_CHAIN_PARSE, block: C_CHAIN_BLOCK_NOT_ACCEPTED }
      : { parse: EVM_PARSE, block: EVM_VERIFY };
  if (payload instanceof ParseError) {
    return { code: codes.parse, message: `cannot parse the payload: ${payload.message}` };
  }
  switch (payload.kind) {
    case 'Hash':
      if (chain.hasAccepted(payload.hash)) return undefined;
      return { code: codes.block, message: `cannot get block ${bytesToHex(payload.hash)}: not accepted` };
    case 'AddressedCall':
      // subnet-evm tries a call that it did not emit as an off-chain message (a validator's uptime); the C-Chain has no such messages.
      return chain.vm === 'coreth'
        ? { code: C_CHAIN_UNKNOWN_MESSAGE, message: `unknown message ${message.id}` }
        : verifyOffchainCall(chain, payload, node.nodeID);
  }
}

/** In the order and the words of subnet-evm (`warp/verifier_backend.go`): clients parse the uptime from the text. */
function verifyOffchainCall(
  { uptimes }: EvmChain,
  { payload, sourceAddress }: AddressedCall,
  nodeID: NodeID | undefined,
): Refusal | undefined {
  const claim = attempt(() => parseValidatorUptime(payload));
  if (claim instanceof ParseError) {
    return { code: EVM_PARSE, message: `failed to parse addressed call message: ${claim.message}` };
  }
  if (sourceAddress.length !== 0) {
    return { code: EVM_VERIFY, message: 'source address should be empty for offchain addressed messages' };
  }
  const { validationID, totalUptime } = claim;
  const seen = nodeID && uptimes?.seenBy(nodeID, validationID);
  if (seen === undefined) return { code: EVM_VERIFY, message: 'failed to get uptime: validationID not found' };
  if (seen >= totalUptime) return undefined;
  const figures = `current uptime ${seen} is less than queried uptime ${totalUptime}`;
  return { code: EVM_VERIFY, message: `${figures} for validationID ${validationID}` };
}

/**
 * Codes of the P-Chain, in the order in which its checks come (`vms/platformvm/network/warp.go`).
 */
const PLATFORM_CODE = {
  parseAddressedCall: 1,
  sourceAddress: 2,
  parsePayload: 3,
  unsupportedPayload: 4,
  parseJustification: 5,
  conversionDoesNotExist: 6,
  mismatchedConversionID: 7,
  invalidJustificationType: 8,
  parseSubnetID: 9,
  mismatchedValidationID: 10,
  validationDoesNotExist: 11,
  validationExists: 12,
  parseRegisterL1Validator: 13,
  validationCouldBeRegistered: 14,
  impossibleNonce: 15,
  wrongNonce: 16,
  wrongWeight: 17,
} as const;

const MAX_NONCE = 2n ** 64n - 1n;

/** Returns why the P-Chain's validators refuse a message with this justification; undefined if they sign. */
export function verifyPlatformMessage(
  platform: PlatformView,
  message: UnsignedMessage,
  justification: Uint8Array,
): Refusal | undefined {
  const call = attempt(() => parseAddressedCall(message.payload));
  if (call instanceof ParseError)
    return refuse('parseAddressedCall', `cannot parse the addressed call: ${call.message}`);
  if (call.sourceAddress.length !== 0) return refuse('sourceAddress', 'the source address must be empty');
  const payload = attempt(() => parseL1Message(call.payload));
  if (payload instanceof ParseError) {
    return refuse('parsePayload', `cannot parse the payload of the addressed call: ${payload.message}`);
  }
  return verifyL1Message(platform, payload, justification);
}

function verifyL1Message(platform: PlatformView, payload: L1Message, justification: Uint8Array): Refusal | undefined {
  switch (payload.kind) {
    case 'SubnetToL1Conversion':
      return verifyConversion(platform, payload, justification);
    case 'L1ValidatorRegistration':
      return payload.registered
        ? verifyRegistered(platform, payload.validationID)
        : verifyNotRegistered(platform, payload, justification);
    case 'L1ValidatorWeight':
      return verifyWeight(platform, payload);
    case 'RegisterL1Validator':
      return refuse('unsupportedPayload', 'the P-Chain does not sign the payload type RegisterL1Validator');
  }
}

function verifyConversion(
  platform: PlatformView,
  payload: SubnetToL1Conversion,
  justification: Uint8Array,
): Refusal | undefined {
  if (justification.length !== ID_LENGTH) {
    const found = `expected ${ID_LENGTH} bytes but got ${justification.length}`;
    return refuse('parseJustification', `cannot parse the justification as a subnet ID: ${found}`);
  }
  const subnetID = idFromBytes<SubnetID>(justification, 'subnetID');
  const conversionID = platform.conversionID(subnetID);
  if (conversionID === undefined) return refuseUnconverted(subnetID);
  if (equalBytes(conversionID, payload.conversionID)) return undefined;
  const [given, expected] = [payload.conversionID, conversionID].map((id) => idFromBytes(id, 'conversionID'));
  return refuse('mismatchedConversionID', `the conversion ID is ${expected}, not ${given}`);
}

function verifyRegistered(platform: PlatformView, validationID: ValidationID): Refusal | undefined {
  return platform.l1Validator(validationID) === undefined ? refuseNonexistent(validationID) : undefined;
}

function verifyNotRegistered(
  platform: PlatformView,
  { validationID }: L1ValidatorRegistration,
  justification: Uint8Array,
): Refusal | undefined {
  // Not parseJustification of `warp`: a node has a separate code for each failure.
  const preimage = parsePreimage(justification);
  if (preimage === undefined)
    return refuse('parseJustification', 'cannot parse the justification: not the protobuf message');
  switch (preimage.case) {
    case 'convertSubnetToL1TxData':
      return verifyNeverConverted(platform, validationID, preimage.value.subnetId, preimage.value.index);
    case 'registerL1ValidatorMessage':
      return verifyNeverRegistrable(platform, validationID, preimage.value);
    case undefined:
      return refuse('invalidJustificationType', 'the justification is of neither type');
  }
}

/** Checks that a validator of the conversion was removed, or that the conversion never contained it. */
function verifyNeverConverted(
  platform: PlatformView,
  validationID: ValidationID,
  subnetIDBytes: Uint8Array,
  index: number,
): Refusal | undefined {
  if (subnetIDBytes.length !== ID_LENGTH) {
    const found = `expected ${ID_LENGTH} bytes but got ${subnetIDBytes.length}`;
    return refuse('parseSubnetID', `cannot parse the subnet ID of the justification: ${found}`);
  }
  const subnetID = idFromBytes<SubnetID>(subnetIDBytes, 'subnetID');
  const justified = conversionValidationID(subnetID, index);
  if (justified !== validationID) return refuseMismatch(validationID, justified);
  if (platform.conversionID(subnetID) === undefined) return refuseUnconverted(subnetID);
  if (platform.l1Validator(validationID) !== undefined) return refuseExistent(validationID);
  return undefined;
}

/** Checks that a RegisterL1Validator message was used or has expired. */
function verifyNeverRegistrable(
  platform: PlatformView,
  validationID: ValidationID,
  bytes: Uint8Array,
): Refusal | undefined {
  const registration = attempt(() => parseL1Message(bytes));
  if (registration instanceof ParseError || registration.kind !== 'RegisterL1Validator') {
    const reason = registration instanceof ParseError ? registration.message : `it is a ${registration.kind}`;
    return refuse('parseRegisterL1Validator', `cannot parse the justification as RegisterL1Validator: ${reason}`);
  }
  const justified = registrationValidationID(registration);
  if (justified !== validationID) return refuseMismatch(validationID, justified);
  if (platform.l1Validator(validationID) !== undefined) return refuseExistent(validationID);
  if (registration.expiry <= platform.timestamp() || platform.wasRegistered(validationID)) return undefined;
  const until = `until ${registration.expiry}`;
  return refuse('validationCouldBeRegistered', `validation ${validationID} could still be registered ${until}`);
}

function verifyWeight(platform: PlatformView, { validationID, nonce, weight }: L1ValidatorWeight): Refusal | undefined {
  if (nonce === MAX_NONCE) return refuse('impossibleNonce', 'no validator can have this nonce');
  const validator = platform.l1Validator(validationID);
  if (validator === undefined) return refuseNonexistent(validationID);
  if (nonce + 1n !== validator.minNonce) {
    return refuse('wrongNonce', `the last nonce is ${validator.minNonce} - 1, not ${nonce}`);
  }
  if (weight !== validator.weight) return refuse('wrongWeight', `the weight is ${validator.weight}, not ${weight}`);
  return undefined;
}

function refuse(code: keyof typeof PLATFORM_CODE, message: string): Refusal {
  return { code: PLATFORM_CODE[code], message };
}

function refuseUnconverted(subnetID: SubnetID): Refusal {
  return refuse('conversionDoesNotExist', `subnet ${subnetID} was not converted to an L1`);
}

function refuseNonexistent(validationID: ValidationID): Refusal {
  return refuse('validationDoesNotExist', `there is no validation ${validationID}`);
}

function refuseExistent(validationID: ValidationID): Refusal {
  return refuse('validationExists', `validation ${validationID} exists`);
}

function refuseMismatch(validationID: ValidationID, justified: ValidationID): Refusal {
  return refuse('mismatchedValidationID', `the justification is of validation ${justified}, not of ${validationID}`);
}

function parseAddressedCall(bytes: Uint8Array): Extract<WarpPayload, { kind: 'AddressedCall' }> {
  const payload = parseWarpPayload(bytes);
  if (payload.kind !== 'AddressedCall') throw new ParseError('AddressedCall', `wrong payload type ${payload.kind}`);
  return payload;
}

function parsePreimage(bytes: Uint8Array) {
  try {
    return fromBinary(L1ValidatorRegistrationJustificationSchema, bytes).preimage;
  } catch {
    return undefined;
  }
}
