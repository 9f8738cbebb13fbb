import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { endOfString } from '../../lib/encoding/json-source.ts';
import { ParseError, tryParse } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';
import { type HostAndPort, parseHostAndPort } from '../../lib/net/host-and-port.ts';
import type { Validator } from '../../validators/validator.ts';
import {
  type BlockchainID,
  EMPTY_ID,
  idBytes,
  type NodeID,
  parseId,
  parseNodeID,
  type SubnetID,
  type TxID,
  type ValidationID,
} from '../../warp/ids.ts';
import { parseEncodedTransaction, TRANSACTION_RESPONSE_BYTES } from '../codec/encoded-transaction.ts';
import {
  type JsonObject,
  readArray,
  readHex,
  readId,
  readObject,
  readPublicKey,
  readString,
  readU32,
  readU64,
} from '../codec/json-fields.ts';
import { type PChainBlock, parsePChainBlock } from '../codec/p-chain-block.ts';
import type { AskedEndpoint, JsonRpcClient } from './json-rpc.ts';
import type { JsonRpcRequest } from './json-rpc-attempt.ts';
import { readValidatorsAt } from './validators-at.ts';

/**
 * P-Chain and info API of a node (avalanchego `vms/platformvm/service.go`, `api/info/service.go`), the base of `pchain/`: `codec/` parses
 * untrusted JSON and bytes, `rpc/` sends calls with failover, `state/` caches validator sets, subnets and L1 validations. The canonical
 * order of a validator set is in `validators/`.
 *
 * All methods are reads, which are retried. They reject with `ApiError`, or with the signal's reason.
 */
export interface NodeApi {
  /** Returns the height of the last accepted P-Chain block. */
  getHeight(signal: AbortSignal): Promise<bigint>;
  /** Returns the P-Chain height of a block that would be proposed now: at or somewhat below that of `getHeight`. */
  getProposedHeight(signal: AbortSignal): Promise<bigint>;
  /**
   * Returns the validators of a subnet at a height, in the node's order; none for an unknown subnet. All inactive L1 validators are one entry
   * without a key, under the NodeID of 20 zero bytes. `height_not_reached` for a height above that of the chain, `height_not_served` where the
   * API serves other heights only.
   */
  getValidatorsAt(subnetID: SubnetID, at: bigint | 'proposed', signal: AbortSignal): Promise<readonly Validator[]>;
  /** Returns validators at the last accepted height, inactive L1 validators with their NodeIDs; none for an unknown subnet. */
  getCurrentValidators(subnetID: SubnetID, signal: AbortSignal): Promise<readonly CurrentValidator[]>;
  /** `rejected` for an unknown blockchain. */
  validatedBy(blockchainID: BlockchainID, signal: AbortSignal): Promise<SubnetID>;
  /** `rejected` for an unknown subnet and for the primary network. */
  getSubnet(subnetID: SubnetID, signal: AbortSignal): Promise<Subnet>;
  /** Returns the bytes of an accepted transaction, checked against its ID. `rejected` for an unknown transaction. */
  getTx(txID: TxID, signal: AbortSignal): Promise<Uint8Array>;
  getTxStatus(txID: TxID, signal: AbortSignal): Promise<TxStatus>;
  /** Returns all blockchains of the network but the P-Chain, a few hundred KiB. */
  getBlockchains(signal: AbortSignal): Promise<readonly Blockchain[]>;
  /** Returns an accepted block. `rejected` for a height above that of the chain. */
  getBlockByHeight(height: bigint, signal: AbortSignal): Promise<PChainBlock>;
  /** Returns an L1 validator at the last accepted height. `rejected` for an unknown or removed one. */
  getL1Validator(validationID: ValidationID, signal: AbortSignal): Promise<L1ValidatorState>;
  /** Returns the current fee of an active L1 validator, in nAVAX a second. */
  getValidatorFeePrice(signal: AbortSignal): Promise<bigint>;
  getNetworkID(signal: AbortSignal): Promise<number>;
  getNodeVersion(signal: AbortSignal): Promise<NodeVersionNumbers>;
  getNodeID(signal: AbortSignal): Promise<NodeID>;
  getNodeIP(signal: AbortSignal): Promise<HostAndPort>;
  /** Returns peers of the node with an address to dial, without the node itself. */
  getPeers(signal: AbortSignal): Promise<readonly ListedPeer[]>;
}

/** Version of a node without its suffix. */
export interface NodeVersionNumbers {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

export interface CurrentValidator {
  readonly nodeID: NodeID;
  readonly weight: bigint;
  /** This and the next field: only for L1 validators. */
  readonly validationID: ValidationID | undefined;
  /** In nAVAX; 0 for an inactive L1 validator. */
  readonly balance: bigint | undefined;
}

export interface L1ValidatorState {
  readonly subnetID: SubnetID;
  /** Lowest nonce of the validator's next L1ValidatorWeight message. */
  readonly minNonce: bigint;
  /** This and the next fields are undefined where an API leaves them out. */
  readonly nodeID?: NodeID | undefined;
  readonly weight?: bigint | undefined;
  /** In nAVAX; 0 for an inactive validator. */
  readonly balance?: bigint | undefined;
}

export interface TxStatus {
  /** Only proposals can be `Aborted`. `Dropped` becomes `Unknown` after a while. */
  readonly status: 'Unknown' | 'Processing' | 'Committed' | 'Aborted' | 'Dropped';
  /** Text of the node, for a dropped transaction. */
  readonly reason: string | undefined;
}

/** The fields are present only after a conversion to an L1, which is permanent. */
export interface Subnet {
  /** 32 bytes. */
  readonly conversionID: Uint8Array | undefined;
  readonly managerChainID: BlockchainID | undefined;
  /** Of the validator manager; undefined where an API leaves it out. */
  readonly managerAddress?: Uint8Array | undefined;
}

export interface Blockchain {
  readonly blockchainID: BlockchainID;
  readonly subnetID: SubnetID;
  /** Chosen by the creator of the chain; `C-Chain` in the primary network. Undefined where the API leaves it out. */
  readonly name?: string;
}

export interface ListedPeer extends HostAndPort {
  readonly nodeID: NodeID;
}

/** The longest response lists the versions of a node's VMs, under 100 bytes each. */
const SCALAR_BYTES = 256 * 1024;
/** Block of at most 2 MiB as JSON, in which a proof of possession takes seven characters for each byte. */
const BLOCK_BYTES = 16 * 1024 * 1024;
/** Lists of 10,000 validators or peers at 1.6 KiB each. The longest real entry, in `getCurrentValidators`, has 0.7 KiB. */
const LIST_BYTES = 16 * 1024 * 1024;
/** Decoded validators, 8 MB: twice as many as the network is planned for. */
const MAX_DECODED = 20_000;

/** Decoded validator with the fields it was decoded from. */
interface DecodedValidator {
  readonly publicKey: unknown;
  readonly weight: unknown;
  readonly validator: Validator;
}

/** @param info may be the same client as `pChain` if both APIs have the same base URL */
export function createNodeApi(pChain: JsonRpcClient, info: JsonRpcClient): NodeApi {
  // Nearly all of a set is equal at the next height, and decoding a NodeID takes base58 and two hashes.
  const decoded = new LRUCache<string, DecodedValidator>({ max: MAX_DECODED });
  const readNodeID = (text: string): NodeID => decoded.get(text)?.validator.nodeID ?? parseNodeID(text);
  const readValidator = (nodeID: string, { publicKey, weight }: JsonObject): Validator => {
    const known = decoded.get(nodeID);
    if (known !== undefined && known.publicKey === publicKey && known.weight === weight) return known.validator;
    const validator = parseValidator(nodeID, { publicKey, weight }, readNodeID);
    decoded.set(nodeID, { publicKey, weight, validator });
    return validator;
  };

  const createCall =
    (client: JsonRpcClient, path: string) =>
    <Result>(
      method: string,
      signal: AbortSignal,
      parseResult: (result: unknown, response: string) => Result,
      params: Readonly<Record<string, unknown>> = {},
      maxResponseBytes = SCALAR_BYTES,
    ): Promise<Result> =>
      client.call({ path, method, params, maxResponseBytes, parseResult, signal });
  const callPChain = createCall(pChain, '/ext/bc/P');
  const callInfo = createCall(info, '/ext/info');
  const heightRequest = (method: string): JsonRpcRequest<bigint> => ({
    path: '/ext/bc/P',
    method,
    params: {},
    parseResult: parseField('height', readU64),
    maxResponseBytes: SCALAR_BYTES,
  });
  const height = heightRequest('platform.getHeight');
  const proposedHeight = heightRequest('platform.getProposedHeight');
  const validatorsAtRequest = (subnetID: SubnetID, at: bigint | 'proposed'): JsonRpcRequest<readonly Validator[]> => ({
    path: '/ext/bc/P',
    method: 'platform.getValidatorsAt',
    params: { subnetID, height: at },
    parseResult(result, response) {
      requireUniqueNodeIDs(response);
      return parseValidatorsAt(result, readValidator);
    },
    maxResponseBytes: LIST_BYTES,
  });

  return {
    getHeight: (signal: AbortSignal) => pChain.call({ ...height, signal }),
    getProposedHeight: (signal: AbortSignal) => pChain.call({ ...proposedHeight, signal }),
    getValidatorsAt(subnetID: SubnetID, at: bigint | 'proposed', signal: AbortSignal): Promise<readonly Validator[]> {
      if (at === 'proposed') return pChain.call({ ...validatorsAtRequest(subnetID, at), signal });
      const requests = {
        height,
        proposedHeight,
        validatorsAt: (asked: bigint | 'proposed') => validatorsAtRequest(subnetID, asked),
      };
      const ask = (endpoint: AskedEndpoint) => readValidatorsAt(endpoint, at, requests);
      return pChain.callAtEndpoints({ method: 'platform.getValidatorsAt', signal, ask });
    },
    getCurrentValidators(subnetID: SubnetID, signal: AbortSignal): Promise<readonly CurrentValidator[]> {
      const parseResult = (result: unknown): CurrentValidator[] => parseCurrentValidators(result, readNodeID);
      return callPChain('platform.getCurrentValidators', signal, parseResult, { subnetID, nodeIDs: [] }, LIST_BYTES);
    },
    validatedBy: (blockchainID: BlockchainID, signal: AbortSignal) =>
      callPChain('platform.validatedBy', signal, parseField('subnetID', readId<SubnetID>), { blockchainID }),
    getSubnet: (subnetID: SubnetID, signal: AbortSignal) =>
      callPChain('platform.getSubnet', signal, parseSubnet, { subnetID }),
    getTx(txID: TxID, signal: AbortSignal): Promise<Uint8Array> {
      const parseResult = (result: unknown): Uint8Array => parseEncodedTransaction(result, txID);
      const params = { txID, encoding: 'hex' };
      return callPChain('platform.getTx', signal, parseResult, params, TRANSACTION_RESPONSE_BYTES);
    },
    getTxStatus: (txID: TxID, signal: AbortSignal) =>
      callPChain('platform.getTxStatus', signal, parseTxStatus, { txID }),
    getBlockchains: (signal: AbortSignal): Promise<readonly Blockchain[]> =>
      callPChain('platform.getBlockchains', signal, parseBlockchains, {}, LIST_BYTES),
    getBlockByHeight(height: bigint, signal: AbortSignal): Promise<PChainBlock> {
      const parseResult = (result: unknown): PChainBlock => parseBlockReply(result, height);
      return callPChain('platform.getBlockByHeight', signal, parseResult, { height, encoding: 'json' }, BLOCK_BYTES);
    },
    getL1Validator: (validationID: ValidationID, signal: AbortSignal) =>
      callPChain('platform.getL1Validator', signal, parseL1Validator, { validationID }),
    getValidatorFeePrice: (signal: AbortSignal) =>
      callPChain('platform.getValidatorFeeState', signal, parseField('price', readU64)),
    getNetworkID: (signal: AbortSignal) => callInfo('info.getNetworkID', signal, parseField('networkID', readU32)),
    getNodeVersion: (signal: AbortSignal) =>
      callInfo('info.getNodeVersion', signal, parseField('version', readVersion)),
    getNodeID: (signal: AbortSignal) =>
      callInfo(
        'info.getNodeID',
        signal,
        parseField('nodeID', (value, what) => parseNodeID(readString(value, what))),
      ),
    getNodeIP: (signal: AbortSignal) => callInfo('info.getNodeIP', signal, parseField('ip', readAddress)),
    getPeers: (signal: AbortSignal): Promise<readonly ListedPeer[]> =>
      callInfo('info.peers', signal, (result) => parsePeers(result, readNodeID), {}, LIST_BYTES),
  };
}

// Parsers of untrusted results, which throw only ParseError.

function parseField<Value>(name: string, read: (value: unknown, what: string) => Value) {
  return (result: unknown): Value => read(readObject(result, 'result')[name], name);
}

/** Parses an object of NodeID to key and weight. A validator without a key has null. */
export function parseValidatorsAt(
  result: unknown,
  readValidator: (nodeID: string, fields: JsonObject) => Validator = parseValidator,
): Validator[] {
  return Object.entries(readObject(result, 'result')).map(([nodeID, value]) =>
    readValidator(nodeID, readObject(value, 'validator')),
  );
}

const COLON = /\s*:/y;

/**
 * `JSON.parse` would keep only the last of two entries, and drop the weight of a validator.
 *
 * @param response valid JSON
 * @throws {ParseError} with the first duplicate
 */
function requireUniqueNodeIDs(response: string): void {
  const known = new Set<string>();
  for (let start = response.indexOf('"'); start !== -1; ) {
    const end = endOfString(response, start);
    COLON.lastIndex = end + 1;
    const name = COLON.test(response) ? (parseJson(response.slice(start, end + 1), 'name') as string) : '';
    if (known.has(name)) throw new ParseError('validator set', `has "${name}" twice`);
    if (name.startsWith('NodeID-')) known.add(name);
    start = response.indexOf('"', end + 1);
  }
}

function parseValidator(
  nodeID: string,
  { publicKey, weight }: JsonObject,
  readNodeID: (text: string) => NodeID = parseNodeID,
): Validator {
  return {
    nodeID: readNodeID(nodeID),
    // Required: a missing key must not count as null.
    publicKey: publicKey === null ? undefined : readPublicKey(publicKey),
    weight: readU64(weight, 'weight'),
  };
}

function parseCurrentValidators(result: unknown, readNodeID: (text: string) => NodeID): CurrentValidator[] {
  return readArray(readObject(result, 'result').validators, 'validators').map((value) => {
    const validator = readObject(value, 'validator');
    return {
      nodeID: readNodeID(readString(validator.nodeID, 'nodeID')),
      weight: readU64(validator.weight, 'weight'),
      validationID: readOptional(validator.validationID, (field) => readId<ValidationID>(field, 'validationID')),
      balance: readOptional(validator.balance, (field) => readU64(field, 'balance')),
    };
  });
}

/** A subnet that is not an L1 has an empty conversion ID, or none on nodes before Etna. */
function parseSubnet(result: unknown): Subnet {
  const subnet = readObject(result, 'result');
  // A node has it for every subnet. Any other object must not prove that the subnet exists.
  if (typeof subnet.isPermissioned !== 'boolean') throw new ParseError('isPermissioned', 'must be a boolean');
  const conversionID = readOptional(subnet.conversionID, (field) => readString(field, 'conversionID'));
  if (conversionID === undefined || conversionID === EMPTY_ID) {
    return { conversionID: undefined, managerChainID: undefined };
  }
  return {
    conversionID: idBytes(parseId(conversionID, 'conversionID')),
    managerChainID: readId<BlockchainID>(subnet.managerChainID, 'managerChainID'),
    managerAddress: readOptional(subnet.managerAddress, (field) => readHex(field, 'managerAddress')),
  };
}

const TX_STATUSES = ['Unknown', 'Processing', 'Committed', 'Aborted', 'Dropped'] as const;

function parseTxStatus(result: unknown): TxStatus {
  const reply = readObject(result, 'result');
  const text = readString(reply.status, 'status');
  const status = TX_STATUSES.find((known) => known === text);
  if (status === undefined) throw new ParseError('status', `must be one of ${TX_STATUSES.join(', ')}`);
  return { status, reason: readOptional(reply.reason, (field) => readString(field, 'reason')) };
}

function parseBlockchains(result: unknown): Blockchain[] {
  return readArray(readObject(result, 'result').blockchains, 'blockchains').map((value) => {
    const { id, subnetID, name } = readObject(value, 'blockchain');
    return {
      blockchainID: readId<BlockchainID>(id, 'id'),
      subnetID: readId<SubnetID>(subnetID, 'subnetID'),
      ...(typeof name === 'string' && { name }),
    };
  });
}

function parseBlockReply(result: unknown, height: bigint): PChainBlock {
  const block = parsePChainBlock(readObject(result, 'result').block);
  if (block.height !== height) throw new ParseError('block', 'does not have the requested height');
  return block;
}

function parseL1Validator(result: unknown): L1ValidatorState {
  const validator = readObject(result, 'result');
  return {
    subnetID: readId<SubnetID>(validator.subnetID, 'subnetID'),
    minNonce: readU64(validator.minNonce, 'minNonce'),
    nodeID: readOptional(validator.nodeID, (field) => parseNodeID(readString(field, 'nodeID'))),
    weight: readOptional(validator.weight, (field) => readU64(field, 'weight')),
    balance: readOptional(validator.balance, (field) => readU64(field, 'balance')),
  };
}

/** `avalanchego/1.14.2`; gateways and release candidates leave the name out or add a suffix: `v1.15.0`, `avalanchego/1.15.0-rc.1`. */
const VERSION = /^(?:[\w-]+\/)?v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:[-+].*)?$/;

function readVersion(value: unknown, what: string): NodeVersionNumbers {
  const match = VERSION.exec(readString(value, what));
  if (match === null) throw new ParseError(what, 'must be like avalanchego/1.14.2');
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]) };
}

function readAddress(value: unknown, what: string): HostAndPort {
  const address = parseIpAddress(readString(value, what));
  if (address === undefined) throw new ParseError(what, 'must be an IP address and a port');
  return address;
}

/** Omits peers without an address that can be dialled, for example clients. */
function parsePeers(result: unknown, readNodeID: (text: string) => NodeID): ListedPeer[] {
  return readArray(readObject(result, 'result').peers, 'peers').flatMap((value) => {
    const peer = readObject(value, 'peer');
    const nodeID = readNodeID(readString(peer.nodeID, 'nodeID'));
    const address = typeof peer.publicIP === 'string' ? parseIpAddress(peer.publicIP) : undefined;
    if (address === undefined || UNSPECIFIED_HOSTS.has(address.host)) return [];
    return [{ nodeID, ...address }];
  });
}

const UNSPECIFIED_HOSTS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
const IPV4_IN_IPV6 = /^::ffff:(?=[0-9.]+$)/i;

/** Parses Go's `netip.AddrPort`, without zones: `1.2.3.4:9651` or `[2001:db8::1]:9651`. */
function parseIpAddress(text: string): HostAndPort | undefined {
  const address = tryParse(() => parseHostAndPort(text));
  if (address === undefined || isIP(address.host) === 0) return undefined;
  return { host: address.host.replace(IPV4_IN_IPV6, ''), port: address.port };
}

function readOptional<Value>(value: unknown, read: (value: unknown) => Value): Value | undefined {
  return value === undefined || value === null ? undefined : read(value);
}
