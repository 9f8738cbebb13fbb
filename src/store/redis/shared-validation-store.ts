import pLimit from 'p-limit';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import type { ValidationID } from '../../warp/ids.ts';
import {
  encodeJustification,
  type L1ValidatorRegistrationJustification,
  parseJustification,
} from '../../warp/justification.ts';
import { conversionValidationID, parseL1Message, registrationValidationID } from '../../warp/l1-message.ts';
import type { ValidationStore } from '../local/validation-store.ts';
import type { SharedValues } from './shared-values.ts';

/** Mainnet has about ten thousand validations, a few MB in total. */
const LIFETIME_MS = 30 * 24 * 3_600_000;
/** A registration has about 300 bytes, and 2 KB with the most owners that a node accepts. */
const MAX_VALUE_BYTES = 4_096;
/**
 * Concurrent writes. A batch of blocks may have tens of thousands of origins: at once they would exceed the queue of commands, and
 * break the connection for all users.
 */
const MAX_WRITES = 32;

/**
 * Looks in the local index first, then in the entries that all replicas have found, so that a new replica needs not wait for its own
 * index. An entry is the preimage of the hash in its key, so it needs no seal. The position is local.
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

/** Returns undefined unless the validation ID is the hash of these bytes. */
function originIn(bytes: Uint8Array, validationID: ValidationID): L1ValidatorRegistrationJustification | undefined {
  const justification = tryParse(() => parseJustification(bytes));
  return justification && validationIDOf(justification) === validationID ? justification : undefined;
}

function validationIDOf(justification: L1ValidatorRegistrationJustification): ValidationID | undefined {
  if (justification.kind === 'SubnetIDIndex') {
    return conversionValidationID(justification.subnetID, justification.index);
  }
  const message = parseL1Message(justification.message);
  return message.kind === 'RegisterL1Validator' ? registrationValidationID(message) : undefined;
}
