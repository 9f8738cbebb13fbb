import type { Validator } from '../../validators/validator.ts';
import type { ConversionData, ConversionValidator } from '../../warp/conversion-data.ts';
import { INACTIVE_NODE_ID, type NodeID, nodeIDFromBytes, type SubnetID, type ValidationID } from '../../warp/ids.ts';
import { conversionValidationID, type RegisterL1Validator, registrationValidationID } from '../../warp/l1-message.ts';

/** A validator of an L1 as the P-Chain holds it. */
export interface L1Validator {
  readonly validationID: ValidationID;
  readonly subnetID: SubnetID;
  readonly nodeID: NodeID;
  /** 48 bytes, compressed G1. */
  readonly publicKey: Uint8Array;
  readonly weight: bigint;
  /** The nonce of its last L1ValidatorWeight message plus one, or 0 if there was none. */
  readonly minNonce: bigint;
  /** In nAVAX. It is not used up with time. */
  readonly balance: bigint;
  /** False without a balance: its weight still counts, but it cannot sign. */
  readonly isActive: boolean;
}

/** A change of an L1's validators, with its P-Chain height. */
export type L1Event = { readonly height: bigint } & L1Change;

export type L1Change =
  | { readonly kind: 'conversion'; readonly data: ConversionData }
  | { readonly kind: 'registration'; readonly message: RegisterL1Validator; readonly balance: bigint }
  | {
      readonly kind: 'weight change';
      readonly validationID: ValidationID;
      readonly nonce: bigint;
      /** 0 removes the validator. */
      readonly weight: bigint;
    }
  | { readonly kind: 'balance increase'; readonly validationID: ValidationID; readonly balance: bigint }
  /** The balance ran out, which takes no transaction; or a transaction disabled it. */
  | { readonly kind: 'deactivation' | 'disabling'; readonly validationID: ValidationID };

/** Initial balance of the validators of a conversion, in nAVAX. */
export const INITIAL_BALANCE = 1_000_000_000n;

type L1Validators = ReadonlyMap<ValidationID, L1Validator>;

/** L1s of the P-Chain with their validators at every height. */
export class L1History {
  readonly #conversions = new Map<SubnetID, { readonly height: bigint; readonly data: ConversionData }>();
  readonly #registered = new Map<ValidationID, bigint>();
  /** Validators of all L1s after each event, by ascending height. */
  readonly #snapshots: { readonly height: bigint; readonly validators: L1Validators }[] = [];

  /** @param event at the height of the last one, or above */
  add(event: L1Event): void {
    const { height } = event;
    const validators = applyChange(this.#snapshots.at(-1)?.validators ?? new Map(), event);
    this.#snapshots.push({ height, validators });
    if (event.kind === 'conversion') this.#conversions.set(event.data.subnetID, { height, data: event.data });
    if (event.kind === 'registration') this.#registered.set(registrationValidationID(event.message), height);
  }

  conversion(subnetID: SubnetID, height: bigint): ConversionData | undefined {
    const found = this.#conversions.get(subnetID);
    return found !== undefined && found.height <= height ? found.data : undefined;
  }

  /** Returns the L1s that were converted up to a height. */
  conversions(height: bigint): ConversionData[] {
    return [...this.#conversions.values()].filter((one) => one.height <= height).map(({ data }) => data);
  }

  /** Returns the validators of all L1s at a height, inactive ones included. */
  validators(height: bigint): L1Validators {
    return this.#snapshots.findLast((candidate) => candidate.height <= height)?.validators ?? new Map();
  }

  validatorsOf(subnetID: SubnetID, height: bigint): L1Validator[] {
    return [...this.validators(height).values()].filter((validator) => validator.subnetID === subnetID);
  }

  /** Whether a RegisterL1Validator message was used up to a height. */
  wasRegistered(validationID: ValidationID, height: bigint): boolean {
    const registeredAt = this.#registered.get(validationID);
    return registeredAt !== undefined && registeredAt <= height;
  }

  /** The set at a height in the form of `platform.getValidatorsAt`: empty before the conversion. */
  validatorsAt(subnetID: SubnetID, height: bigint): Validator[] {
    const all = this.validatorsOf(subnetID, height);
    const active = all.filter(({ isActive }) => isActive);
    const inactiveWeight = all.reduce((sum, { isActive, weight }) => (isActive ? sum : sum + weight), 0n);
    return [
      ...active.map(({ nodeID, publicKey, weight }) => ({ nodeID, publicKey, weight })),
      ...(inactiveWeight === 0n ? [] : [{ nodeID: INACTIVE_NODE_ID, publicKey: undefined, weight: inactiveWeight }]),
    ];
  }
}

function applyChange(before: L1Validators, change: L1Change): L1Validators {
  const after = new Map(before);
  switch (change.kind) {
    case 'conversion': {
      const { subnetID, validators } = change.data;
      for (const [index, validator] of validators.entries()) {
        const validationID = conversionValidationID(subnetID, index);
        after.set(validationID, createL1Validator({ validationID, subnetID }, validator, INITIAL_BALANCE));
      }
      return after;
    }
    case 'registration': {
      const { message, balance } = change;
      const validationID = registrationValidationID(message);
      const { subnetID } = message;
      return after.set(validationID, createL1Validator({ validationID, subnetID }, message, balance));
    }
    case 'weight change': {
      const { validationID, nonce, weight } = change;
      if (weight > 0n)
        return after.set(validationID, { ...existing(before, validationID), weight, minNonce: nonce + 1n });
      after.delete(validationID);
      return after;
    }
    case 'balance increase': {
      const validator = existing(before, change.validationID);
      return after.set(change.validationID, withBalance(validator, validator.balance + change.balance));
    }
    case 'deactivation':
    case 'disabling':
      return after.set(change.validationID, withBalance(existing(before, change.validationID), 0n));
  }
}

function createL1Validator(
  ids: Pick<L1Validator, 'validationID' | 'subnetID'>,
  { nodeID, blsPublicKey, weight }: ConversionValidator,
  balance: bigint,
): L1Validator {
  const fields = { ...ids, nodeID: nodeIDFromBytes(nodeID), publicKey: blsPublicKey, weight, minNonce: 0n };
  return { ...fields, balance, isActive: balance > 0n };
}

function withBalance(validator: L1Validator, balance: bigint): L1Validator {
  return { ...validator, balance, isActive: balance > 0n };
}

function existing(validators: L1Validators, validationID: ValidationID): L1Validator {
  const validator = validators.get(validationID);
  if (validator === undefined) throw new RangeError(`there is no validation ${validationID}`);
  return validator;
}
