import { equalBytes } from '../../lib/encoding/bytes.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { loggedMessage } from '../../pchain/codec/logged-message.ts';
import { ID_LENGTH, idBytes, idFromBytes, P_CHAIN_ID, type SubnetID, type ValidationID } from '../../warp/ids.ts';
import {
  conversionOrigin,
  encodeJustification,
  type L1ValidatorRegistrationJustification,
  parseJustification,
  registrationOrigin,
  type ValidationOrigin,
} from '../../warp/justification.ts';
import {
  encodeL1Message,
  hashConversionValidator,
  type L1Message,
  parseL1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from '../../warp/l1-message.ts';
import { createSourcelessCall, parseWarpPayload } from '../../warp/payload.ts';
import { parseSignedMessage } from '../../warp/signed-message.ts';
import { createUnsignedMessage, parseUnsignedMessage, type UnsignedMessage } from '../../warp/unsigned-message.ts';

export type RecognizedJustification =
  | { readonly kind: 'subnet'; readonly subnetID: SubnetID }
  | ({ readonly kind: 'validation'; readonly subnetID: SubnetID } & ValidationOrigin);

/**
 * Parses a justification: the 32 bytes of a subnet ID; an L1ValidatorRegistrationJustification; or a RegisterL1Validator
 * payload, alone or inside its addressed call, Warp message (unsigned or signed) or the data of a SendWarpMessage log. The forms cannot be confused: the codec
 * starts with two zero bytes, which no protobuf message does.
 */
export function recognizeJustification(bytes: Uint8Array): RecognizedJustification | undefined {
  if (bytes.length === ID_LENGTH) return { kind: 'subnet', subnetID: idFromBytes<SubnetID>(bytes, 'subnet ID') };
  const justification = tryParse(() => parseJustification(bytes));
  if (justification?.kind === 'SubnetIDIndex') {
    const { subnetID, index } = justification;
    return { kind: 'validation', subnetID, ...conversionOrigin(subnetID, index) };
  }
  const message = findRegistration(justification?.message ?? bytes);
  return message && { kind: 'validation', subnetID: message.subnetID, ...registrationOrigin(message) };
}

function findRegistration(given: Uint8Array): RegisterL1Validator | undefined {
  const bytes = tryParse(() => loggedMessage(given, 'justification')) ?? given;
  const warpMessage =
    tryParse(() => parseUnsignedMessage(bytes)) ?? tryParse(() => parseSignedMessage(bytes).unsignedMessage);
  const call = tryParse(() => parseWarpPayload(warpMessage?.payload ?? bytes));
  const payload = call?.kind === 'AddressedCall' ? call.payload : (warpMessage?.payload ?? bytes);
  const message = tryParse(() => parseL1Message(payload));
  return message?.kind === 'RegisterL1Validator' ? message : undefined;
}

/**
 * Returns the registration whose end a message of the P-Chain confirms. The validation ID is its hash, so that its expiry is what the
 * validator manager wrote. Undefined for other messages, and if the justification is of another validation.
 */
export function endedRegistration({
  message,
  justification,
}: MessageAndJustification): RegisterL1Validator | undefined {
  if (justification.length === 0) return undefined;
  const validationID = endedValidation(message);
  const proof = validationID && tryParse(() => parseJustification(justification));
  if (proof?.kind !== 'RegisterL1ValidatorMessage') return undefined;
  const registration = tryParse(() => parseL1Message(proof.message));
  const isProof =
    registration?.kind === 'RegisterL1Validator' && registrationValidationID(registration) === validationID;
  return isProof ? registration : undefined;
}

interface MessageAndJustification {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
}

/** Returns the validation that is over by a message of the P-Chain. */
function endedValidation({ sourceChainID, payload }: UnsignedMessage): ValidationID | undefined {
  if (sourceChainID !== P_CHAIN_ID) return undefined;
  const call = tryParse(() => parseWarpPayload(payload));
  const content = call?.kind === 'AddressedCall' ? tryParse(() => parseL1Message(call.payload)) : undefined;
  return content?.kind === 'L1ValidatorRegistration' && !content.registered ? content.validationID : undefined;
}

/** Only the end of a validation has several forms of justification; anything else is left to the validators. */
export function unwrapJustification(message: UnsignedMessage, justification: Uint8Array): Uint8Array {
  if (justification.length === 0 || endedValidation(message) === undefined) return justification;
  const recognized = recognizeJustification(justification);
  return recognized?.kind === 'validation' ? encodeJustification(recognized.justification) : justification;
}

export function looksLikeSignedMessage(bytes: Uint8Array): boolean {
  return tryParse(() => parseSignedMessage(bytes)) !== undefined;
}

export function looksLikeUnsignedMessage(bytes: Uint8Array): boolean {
  return tryParse(() => parseUnsignedMessage(bytes)) !== undefined;
}

export function createPChainMessage(networkID: number, message: L1Message): UnsignedMessage {
  return createUnsignedMessage(networkID, P_CHAIN_ID, createSourcelessCall(encodeL1Message(message)));
}

/** More validators than a conversion fits into a P-Chain transaction; some milliseconds of hashing. */
const MAX_CONVERSION_VALIDATORS = 2_048;

/** Finds a validation that the subnet's conversion started, by trying all indices: its ID is sha256(subnetID · `u32` index). */
export function findConversionValidator(
  subnetID: SubnetID,
  validationID: ValidationID,
): L1ValidatorRegistrationJustification | undefined {
  const [subnet, wanted] = [idBytes(subnetID), idBytes(validationID)];
  for (let index = 0; index < MAX_CONVERSION_VALIDATORS; index += 1) {
    if (equalBytes(hashConversionValidator(subnet, index), wanted)) return { kind: 'SubnetIDIndex', subnetID, index };
  }
  return undefined;
}
