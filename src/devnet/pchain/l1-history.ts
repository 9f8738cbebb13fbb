import type { Validator } from '../../validators/validator.ts';
import type { ConversionData } from '../../warp/conversion-data.ts';
import { NODE_ID_LENGTH, type NodeID, nodeIDFromBytes, type ValidationID } from '../../warp/ids.ts';
import { conversionValidationID, type RegisterL1Validator, registrationValidationID } from '../../warp/l1-message.ts';

/** A validator of the L1 as the P-Chain holds it. */
export interface L1Validator {
  readonly validationID: ValidationID;
  readonly nodeID: NodeID;
  /** 48 bytes, compressed G1. */
  readonly publicKey: Uint8Array;
  readonly weight: bigint;
  /** The nonce of its last L1ValidatorWeight message plus one, or 0 where there was none. */
  readonly minNonce: bigint;
  /** False once its balance has run out: its weight still counts, but it cannot sign. */
  readonly isActive: boolean;
}

/** What happened to the L1's validators, and at which P-Chain height. */
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

/** The NodeID under which the P-Chain lists the weight of all inactive L1 validators together. */
const INACTIVE_NODE_ID = nodeIDFromBytes(new Uint8Array(NODE_ID_LENGTH));

/** The L1's validators at every height. */
export class L1History {
  readonly #snapshots: { readonly height: bigint; readonly validators: L1Validators }[] = [];
  readonly #registered = new Set<ValidationID>();

  /** @param events in ascending order of height */
  constructor(events: readonly L1Event[]) {
    let validators: L1Validators = new Map();
    for (const event of events) {
      validators = applyEvent(validators, event);
      this.#snapshots.push({ height: event.height, validators });
      if (event.kind === 'registration') this.#registered.add(registrationValidationID(event.message));
    }
  }

  /** The current validators, inactive ones included. */
  get current(): L1Validators {
    return this.#snapshots.at(-1)?.validators ?? new Map();
  }

  /** The set at a height in the form of `platform.getValidatorsAt`: empty before the conversion. */
  validatorsAt(height: bigint): Validator[] {
    const snapshot = this.#snapshots.findLast((candidate) => candidate.height <= height);
    const all = [...(snapshot?.validators.values() ?? [])];
    const active = all.filter(({ isActive }) => isActive);
    const inactiveWeight = all.reduce((sum, { isActive, weight }) => (isActive ? sum : sum + weight), 0n);
    return [
      ...active.map(({ nodeID, publicKey, weight }) => ({ nodeID, publicKey, weight })),
      ...(inactiveWeight === 0n ? [] : [{ nodeID: INACTIVE_NODE_ID, publicKey: undefined, weight: inactiveWeight }]),
    ];
  }

  /** Whether a RegisterL1Validator message was used before: it can never be used again, not even before its expiry. */
  wasRegistered(validationID: ValidationID): boolean {
    return this.#registered.has(validationID);
  }
}

function applyEvent(before: L1Validators, event: L1Event): L1Validators {
  const after = new Map(before);
  switch (event.kind) {
    case 'conversion':
      for (const [index, { nodeID, blsPublicKey, weight }] of event.data.validators.entries()) {
        const validationID = conversionValidationID(event.data.subnetID, index);
        after.set(validationID, createL1Validator(validationID, nodeID, blsPublicKey, weight));
      }
      return after;
    case 'registration': {
      const { message } = event;
      const validationID = registrationValidationID(message);
      after.set(validationID, createL1Validator(validationID, message.nodeID, message.blsPublicKey, message.weight));
      return after;
    }
    case 'weight change': {
      const validator = existing(before, event.validationID);
      after.set(event.validationID, { ...validator, weight: event.weight, minNonce: validator.minNonce + 1n });
      return after;
    }
    case 'removal':
      existing(before, event.validationID);
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
  nodeID: Uint8Array,
  publicKey: Uint8Array,
  weight: bigint,
): L1Validator {
  return { validationID, nodeID: nodeIDFromBytes(nodeID), publicKey, weight, minNonce: 0n, isActive: true };
}

function existing(validators: L1Validators, validationID: ValidationID): L1Validator {
  const validator = validators.get(validationID);
  if (validator === undefined) throw new RangeError(`there is no validation ${validationID}`);
  return validator;
}
