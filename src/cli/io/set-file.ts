import { parseHex } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { parseExactJson } from '../../pchain/codec/exact-json.ts';
import { type JsonObject, readArray, readObject, readString, readU64 } from '../../pchain/codec/json-fields.ts';
import { parseValidatorsAt } from '../../pchain/rpc/node-api.ts';
import type { Validator } from '../../validators/validator.ts';
import { createWarpSet, type WarpSet } from '../../validators/warp-set.ts';
import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import { NODE_ID_LENGTH, nodeIDFromBytes, parseHexOrCb58Id, parseNodeID, type SubnetID } from '../../warp/ids.ts';
import { usageFailure } from './exit-codes.ts';
import { readTextFile } from './input.ts';

export interface SavedSet {
  readonly warpSet: WarpSet;
  readonly signingSubnetID: SubnetID | undefined;
  readonly pChainHeight: bigint | undefined;
}

/** 10,000 L1 validators, the planned size of the network, with 1.5 KB each in a view. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** Stands for the validators without a key, which the view only counts. */
const KEYLESS_NODE = nodeIDFromBytes(new Uint8Array(NODE_ID_LENGTH));

/** @throws {CommandFailure} */
export async function readSetFile(path: string): Promise<SavedSet> {
  const text = await readTextFile(path, MAX_FILE_BYTES);
  const set = attempt(() => parseSavedSet(text));
  if (!(set instanceof ParseError)) return set;
  throw usageFailure(
    `${path} is no validator set: ${set.message}. Give what \`subnet --json\` prints, or platform.getValidatorsAt answers`,
    { cause: set },
  );
}

/**
 * Parses the subnet view of this service, or the result of `platform.getValidatorsAt`, with or without the JSON-RPC envelope.
 *
 * @throws {ParseError}
 */
export function parseSavedSet(text: string): SavedSet {
  const json = readObject(parseExactJson(text, 'the file'), 'the file');
  if ('validators' in json) return parseView(json);
  const validators = parseValidatorsAt('result' in json ? json['result'] : json);
  if (validators.length === 0) throw new ParseError('the file', 'has no validators');
  return { warpSet: createWarpSet(validators), signingSubnetID: undefined, pChainHeight: undefined };
}

function parseView(view: JsonObject): SavedSet {
  const withoutKey = readU64(readObject(view['withoutKey'], 'withoutKey')['weight'], 'withoutKey.weight');
  const validators = readArray(view['validators'], 'validators').flatMap((value) => parseValidator(value));
  const warpSet = createWarpSet([...validators, { nodeID: KEYLESS_NODE, publicKey: undefined, weight: withoutKey }]);
  const totalWeight = readU64(view['totalWeight'], 'totalWeight');
  if (warpSet.totalWeight !== totalWeight) {
    throw new ParseError('validators', `weigh ${warpSet.totalWeight} of ${totalWeight}: it is not the whole set`);
  }
  return {
    warpSet,
    signingSubnetID: parseHexOrCb58Id<SubnetID>(readString(view['subnetId'], 'subnetId'), 'subnetId'),
    pChainHeight: readU64(view['pChainHeight'], 'pChainHeight'),
  };
}

/** Returns an entry for each of its nodes, of which the first has the whole weight. */
function parseValidator(value: unknown): Validator[] {
  const validator = readObject(value, 'validator');
  // Inactive validators are counted in `withoutKey`.
  if (validator['publicKey'] === undefined) return [];
  const publicKey = parseHex(readString(validator['publicKey'], 'publicKey'), 'publicKey');
  if (publicKey.length !== BLS_PUBLIC_KEY_LENGTH) {
    throw new ParseError('publicKey', `must have ${BLS_PUBLIC_KEY_LENGTH} bytes, has ${publicKey.length}`);
  }
  const weight = readU64(validator['weight'], 'weight');
  return readArray(validator['nodes'], 'nodes').map((node, index) => ({
    nodeID: parseNodeID(readString(readObject(node, 'node')['nodeId'], 'nodeId')),
    publicKey,
    weight: index === 0 ? weight : 0n,
  }));
}
