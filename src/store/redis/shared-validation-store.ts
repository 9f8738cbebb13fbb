import pLimit from 'p-limit';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { ValidationID } from '../../warp/ids.ts';
import {
  encodeJustification,
  type L1ValidatorRegistrationJustification,
  parseJustification,
} from '../../warp/justification.ts';
import { conversionValidationID, parseL1Message, registrationValidationID } from '../../warp/l1-message.ts';
import type { ValidationStore } from '../local/validation-store.ts';
import type { SharedValues } from './shared-values.ts';

/** Mainnet has had some ten thousand validations, so all of them for a month are some MB. */
const LIFETIME_MS = 30 * 24 * 3_600_000;
/** A registration has some 300 bytes, and 2 KB with the most owners that a node takes. */
const MAX_VALUE_BYTES = 4_096;
/**
 * Written at the same time. A batch of blocks may have tens of thousands of origins, as a conversion has hundreds: all at once they
 * are more commands than may wait, and then the store would be given up for everything else, too.
 */
const MAX_WRITES = 32;

/**
 * The replica's own index first, then what all replicas have found in the blocks that they have read: so one that has just started
 * knows at once what the others know, while it reads the blocks itself. An entry is the preimage of the hash that it is found
 * under, so it needs no seal. How far the blocks were read is each replica's own.
 */
export function createSharedValidationStore(own: ValidationStore, values: SharedValues): ValidationStore {
  return {
    position: () => own.position(),
    async originOf(validationID) {
      const found = await own.originOf(validationID);
      if (found !== undefined) return found;
      const bytes = await values.get(originKey(validationID), MAX_VALUE_BYTES);
      return bytes && originIn(bytes, validationID);
    },
    async commit(batch) {
      await own.commit(batch);
      const limit = pLimit(MAX_WRITES);
      await limit.map(
        batch.entries.flatMap(({ origins }) => origins),
        ({ validationID, justification }) =>
          values.set(originKey(validationID), encodeJustification(justification), LIFETIME_MS),
      );
    },
  };
}

function originKey(validationID: ValidationID): string {
  return `validation:${validationID}`;
}

/** Undefined where it is not what the validation ID is the hash of. */
function originIn(bytes: Uint8Array, validationID: ValidationID): L1ValidatorRegistrationJustification | undefined {
  try {
    const justification = parseJustification(bytes);
    return validationIDOf(justification) === validationID ? justification : undefined;
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function validationIDOf(justification: L1ValidatorRegistrationJustification): ValidationID | undefined {
  if (justification.kind === 'SubnetIDIndex') {
    return conversionValidationID(justification.subnetID, justification.index);
  }
  const message = parseL1Message(justification.message);
  return message.kind === 'RegisterL1Validator' ? registrationValidationID(message) : undefined;
}
