import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { copyBytes } from '../lib/encoding/bytes.ts';
import { ParseError } from '../lib/encoding/parse-error.ts';
import { L1ValidatorRegistrationJustificationSchema } from './gen/platformvm_pb.js';
import { idBytes, idFromBytes, type SubnetID, type ValidationID } from './ids.ts';
import {
  conversionValidationID,
  encodeL1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from './l1-message.ts';

/** Proves to the P-Chain's validators that a validation does not exist and never will (ACP-77). */
export type L1ValidatorRegistrationJustification =
  /** The validator at this index of the subnet's ConvertSubnetToL1Tx. */
  | { readonly kind: 'SubnetIDIndex'; readonly subnetID: SubnetID; readonly index: number }
  /** The RegisterL1Validator payload itself, not the Warp message around it. */
  | { readonly kind: 'RegisterL1ValidatorMessage'; readonly message: Uint8Array };

/** The origin of a validation: the P-Chain's validators require it to sign that the validation is over. */
export interface ValidationOrigin {
  readonly validationID: ValidationID;
  readonly justification: L1ValidatorRegistrationJustification;
}

/** The origin of a validator in the conversion of its subnet. */
export function conversionOrigin(subnetID: SubnetID, index: number): ValidationOrigin {
  const validationID = conversionValidationID(subnetID, index);
  return { validationID, justification: { kind: 'SubnetIDIndex', subnetID, index } };
}

export function registrationOrigin(registration: RegisterL1Validator): ValidationOrigin {
  const message = encodeL1Message(registration);
  return {
    validationID: registrationValidationID(registration),
    justification: { kind: 'RegisterL1ValidatorMessage', message },
  };
}

const WHAT = 'L1ValidatorRegistrationJustification';

export function encodeJustification(justification: L1ValidatorRegistrationJustification): Uint8Array {
  return toBinary(
    L1ValidatorRegistrationJustificationSchema,
    create(L1ValidatorRegistrationJustificationSchema, { preimage: preimageOf(justification) }),
  );
}

export function parseJustification(bytes: Uint8Array): L1ValidatorRegistrationJustification {
  const preimage = decodePreimage(bytes);
  switch (preimage.case) {
    case 'convertSubnetToL1TxData':
      return {
        kind: 'SubnetIDIndex',
        subnetID: idFromBytes<SubnetID>(preimage.value.subnetId, `${WHAT}.subnet_id`),
        index: preimage.value.index,
      };
    case 'registerL1ValidatorMessage':
      return { kind: 'RegisterL1ValidatorMessage', message: copyBytes(preimage.value) };
    case undefined:
      throw new ParseError(WHAT, 'has neither convert_subnet_to_l1_tx_data nor register_l1_validator_message');
  }
}

function decodePreimage(bytes: Uint8Array) {
  try {
    return fromBinary(L1ValidatorRegistrationJustificationSchema, bytes, { readUnknownFields: false }).preimage;
  } catch (cause) {
    throw new ParseError(WHAT, 'is not the protobuf message', { cause });
  }
}

function preimageOf(justification: L1ValidatorRegistrationJustification) {
  switch (justification.kind) {
    case 'SubnetIDIndex':
      return {
        case: 'convertSubnetToL1TxData' as const,
        value: { subnetId: idBytes(justification.subnetID), index: justification.index },
      };
    case 'RegisterL1ValidatorMessage':
      return { case: 'registerL1ValidatorMessage' as const, value: justification.message };
  }
}
