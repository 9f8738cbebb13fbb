import { equalBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { ID_LENGTH, idBytes, idFromBytes, P_CHAIN_ID, type SubnetID, type ValidationID } from '../../warp/ids.ts';
import {
  encodeJustification,
  type L1ValidatorRegistrationJustification,
  parseJustification,
} from '../../warp/justification.ts';
import {
  conversionValidationID,
  encodeL1Message,
  hashConversionValidator,
  type L1Message,
  parseL1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from '../../warp/l1-message.ts';
import { encodeWarpPayload, parseWarpPayload } from '../../warp/payload.ts';
import { parseSignedMessage } from '../../warp/signed-message.ts';
import { createUnsignedMessage, parseUnsignedMessage, type UnsignedMessage } from '../../warp/unsigned-message.ts';

export type RecognizedJustification =
  | { readonly kind: 'subnet'; readonly subnetID: SubnetID }
  | {
      readonly kind: 'validation';
      readonly validationID: ValidationID;
      readonly subnetID: SubnetID;
      readonly justification: L1ValidatorRegistrationJustification;
    };

/**
 * Parses a justification: the 32 bytes of a subnet ID; an L1ValidatorRegistrationJustification; or a RegisterL1Validator
 * payload, alone or inside its addressed call or Warp message (unsigned or signed). The forms cannot be confused: the codec
 * starts with two zero bytes, which no protobuf message does.
 */
export function recognizeJustification(bytes: Uint8Array): RecognizedJustification | undefined {
  if (bytes.length === ID_LENGTH) return { kind: 'subnet', subnetID: idFromBytes<SubnetID>(bytes, 'subnet ID') };
  const justification = attempt(() => parseJustification(bytes));
  if (justification?.kind === 'SubnetIDIndex') {
    const { subnetID, index } = justification;
    return { kind: 'validation', validationID: conversionValidationID(subnetID, index), subnetID, justification };
  }
  const message = findRegistration(justification?.message ?? bytes);
  if (message === undefined) return undefined;
  return {
    kind: 'validation',
    validationID: registrationValidationID(message),
    subnetID: message.subnetID,
    justification: { kind: 'RegisterL1ValidatorMessage', message: encodeL1Message(message) },
  };
}

function findRegistration(bytes: Uint8Array): RegisterL1Validator | undefined {
  const warpMessage =
    attempt(() => parseUnsignedMessage(bytes)) ?? attempt(() => parseSignedMessage(bytes).unsignedMessage);
  const call = attempt(() => parseWarpPayload(warpMessage?.payload ?? bytes));
  const payload = call?.kind === 'AddressedCall' ? call.payload : (warpMessage?.payload ?? bytes);
  const message = attempt(() => parseL1Message(payload));
  return message?.kind === 'RegisterL1Validator' ? message : undefined;
}

/** Only the end of a validation has several forms of justification; anything else is left to the validators. */
export function unwrapJustification(message: UnsignedMessage, justification: Uint8Array): Uint8Array {
  if (message.sourceChainID !== P_CHAIN_ID || justification.length === 0) return justification;
  const call = attempt(() => parseWarpPayload(message.payload));
  const payload = call?.kind === 'AddressedCall' ? attempt(() => parseL1Message(call.payload)) : undefined;
  if (payload?.kind !== 'L1ValidatorRegistration' || payload.registered) return justification;
  const recognized = recognizeJustification(justification);
  return recognized?.kind === 'validation' ? encodeJustification(recognized.justification) : justification;
}

export function looksLikeSignedMessage(bytes: Uint8Array): boolean {
  return attempt(() => parseSignedMessage(bytes)) !== undefined;
}

export function looksLikeUnsignedMessage(bytes: Uint8Array): boolean {
  return attempt(() => parseUnsignedMessage(bytes)) !== undefined;
}

/** A P-Chain message: an addressed call without a source. */
export function createPChainMessage(networkID: number, message: L1Message): UnsignedMessage {
  const payload = encodeL1Message(message);
  const call = encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: new Uint8Array(), payload });
  return createUnsignedMessage(networkID, P_CHAIN_ID, call);
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

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}
