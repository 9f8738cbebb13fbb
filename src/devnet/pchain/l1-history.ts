import type { Validator } from '../../validators/validator.ts';
import type { ConversionData, ConversionValidator } from '../../warp/conversion-data.ts';
import { INACTIVE_NODE_ID, type NodeID, nodeIDFromBytes, type ValidationID } from '../../warp/ids.ts';
import { conversionValidationID, type RegisterL1Validator, registrationValidationID } from '../../warp/l1-message.ts';

/** A validator of the L1 as the P-Chain holds it. */
export interface L1Validator {
  readonly validationID: ValidationID;
  readonly nodeID: NodeID;
  /** 48 bytes, compressed G1. */
  readonly publicKey: Uint8Array;
  readonly weight: bigint;
  /** The nonce of its last L1ValidatorWeight message plus one, or 0 if there was none. */
  readonly minNonce: bigint;
  /** False once its balance has run out: its weight still counts, but it cannot sign. */
  readonly isActive: boolean;
}

/** A change of the L1's validators, with its P-Chain height. */
export type L1Event = { readonly height: bigint } & (
  | { readonly kind: 'conversion'; readonly data: ConversionData }
  | { readonly kind: 'registration'; readonly message: RegisterL1Validator }
  | { readonly kind: 'weight change'; readonly validationID: ValidationID; readonly weight: bigint }
  | { readonly kind: 'removal'; readonly validationID: ValidationID }
  | { readonly kind: 'deactivation'; readonly validationID: ValidationID }
  /** These two change no validator: the balance was high enough, and the disabled one was inactive. */
  | { readonly kind: 'balance increase' | 'disabling'; readonly validationID: ValidationID }
);

type L1Validators = ReadonlyMap<ValidationID, L1Validator>;

/**
 * The L1's validators at every height.
 *
 * @param events in ascending order of height
 */
export function createL1History(events: readonly L1Event[]) {
  let current: L1Validators = new Map();
  const snapshots = events.map((event) => {
    current = applyEvent(current, event);
    return { height: event.height, validators: current };
  });
  return {
    /** The current validators, inactive ones included. */
    current,
    /** Validations whose RegisterL1Validator message was used. */
    registered: new Set(
      events.flatMap((event) => (event.kind === 'registration' ? [registrationValidationID(event.message)] : [])),
    ),
    /** The set at a height in the form of `platform.getValidatorsAt`: empty before the conversion. */
    validatorsAt(height: bigint): Validator[] {
      const snapshot = snapshots.findLast((candidate) => candidate.height <= height);
      const all = [...(snapshot?.validators.values() ?? [])];
      const active = all.filter(({ isActive }) => isActive);
      const inactiveWeight = all.reduce((sum, { isActive, weight }) => (isActive ? sum : sum + weight), 0n);
      return [
        ...active.map(({ nodeID, publicKey, weight }) => ({ nodeID, publicKey, weight })),
        ...(inactiveWeight === 0n ? [] : [{ nodeID: INACTIVE_NODE_ID, publicKey: undefined, weight: inactiveWeight }]),
      ];
    },
  };
}

function applyEvent(before: L1Validators, event: L1Event): L1Validators {
  const after = new Map(before);
  switch (event.kind) {
    case 'conversion':
      for (const [index, validator] of event.data.validators.entries()) {
        const validationID = conversionValidationID(event.data.subnetID, index);
        after.set(validationID, createL1Validator(validationID, validator));
      }
      return after;
    case 'registration': {
      const validationID = registrationValidationID(event.message);
      after.set(validationID, createL1Validator(validationID, event.message));
      return after;
    }
    case 'weight change': {
      const validator = existing(before, event.validationID);
      after.set(event.validationID, { ...validator, weight: event.weight, minNonce: validator.minNonce + 1n });
      return after;
    }
    case 'removal':
      after.delete(event.validationID);
      return after;
    case 'deactivation':
      after.set(event.validationID, { ...existing(before, event.validationID), isActive: false });
      return after;
    case 'balance increase':
    case 'disabling':
      return before;
  }
}

function createL1Validator(
  validationID: ValidationID,
  { nodeID, blsPublicKey, weight }: ConversionValidator,
): L1Validator {
  return {
    validationID,
    nodeID: nodeIDFromBytes(nodeID),
    publicKey: blsPublicKey,
    weight,
    minNonce: 0n,
    isActive: true,
  };
}

function existing(validators: L1Validators, validationID: ValidationID): L1Validator {
  const validator = validators.get(validationID);
  if (validator === undefined) throw new RangeError(`there is no validation ${validationID}`);
  return validator;
}
