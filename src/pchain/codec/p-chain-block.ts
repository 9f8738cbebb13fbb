import { tryParse } from '../../lib/encoding/parse-error.ts';
import type { ConversionData } from '../../warp/conversion-data.ts';
import type { BlockchainID, SubnetID } from '../../warp/ids.ts';
import { conversionOrigin, registrationOrigin, type ValidationOrigin } from '../../warp/justification.ts';
import { type JsonObject, readArray, readHex, readId, readObject, readPublicKey, readU64 } from './json-fields.ts';
import { registrationOf } from './l1-transaction.ts';

/** Accepted P-Chain block for the index of L1 validations. */
export interface PChainBlock {
  readonly height: bigint;
  /** cb58 */
  readonly id: string;
  readonly parentID: string;
  /** Unix seconds; undefined in blocks from before Banff. */
  readonly timestamp: bigint | undefined;
  readonly origins: readonly ValidationOrigin[];
}

/**
 * Parses a block in the node's JSON, where fields distinguish transactions (avalanchego `vms/platformvm/block`). Validation IDs are
 * computed from the content, so an entry can be missing but not wrong.
 *
 * @throws {ParseError}
 */
export function parsePChainBlock(value: unknown): PChainBlock {
  const block = readObject(value, 'block');
  const transactions = (block.txs === undefined || block.txs === null ? [] : readArray(block.txs, 'txs')).map(
    (transaction) => readObject(readObject(transaction, 'transaction').unsignedTx, 'unsignedTx'),
  );
  return {
    height: readU64(block.height, 'height'),
    id: readId(block.id, 'id'),
    parentID: readId(block.parentID, 'parentID'),
    timestamp: block.time === undefined ? undefined : readU64(block.time, 'time'),
    origins: transactions.flatMap(originsOf),
  };
}

/** Returns the validations that a conversion starts. */
export function conversionOrigins({ subnetID, validators }: Pick<ConversionData, 'subnetID' | 'validators'>) {
  return validators.map((_, index) => conversionOrigin(subnetID, index));
}

/** Omits transactions that cannot be parsed: a later node's format must not stop the index. */
function originsOf(unsignedTx: JsonObject): readonly ValidationOrigin[] {
  const origins = tryParse(() => {
    if (isConversion(unsignedTx)) return conversionOrigins(readConversion(unsignedTx));
    if (!isRegistration(unsignedTx)) return [];
    return [registrationOrigin(registrationOf(readHex(unsignedTx.message, 'message')).message)];
  });
  return origins ?? [];
}

function isConversion(unsignedTx: JsonObject): boolean {
  return 'chainID' in unsignedTx && 'address' in unsignedTx && 'validators' in unsignedTx;
}

function isRegistration(unsignedTx: JsonObject): boolean {
  return 'message' in unsignedTx && 'proofOfPossession' in unsignedTx;
}

function readConversion(unsignedTx: JsonObject): ConversionData {
  return {
    subnetID: readId<SubnetID>(unsignedTx.subnetID, 'subnetID'),
    managerChainID: readId<BlockchainID>(unsignedTx.chainID, 'chainID'),
    managerAddress: readHex(unsignedTx.address, 'address'),
    validators: readArray(unsignedTx.validators, 'validators').map((value) => {
      const validator = readObject(value, 'validator');
      return {
        nodeID: readHex(validator.nodeID, 'nodeID'),
        blsPublicKey: readPublicKey(readObject(validator.signer, 'signer').publicKey),
        weight: readU64(validator.weight, 'weight'),
      };
    }),
  };
}
