import { hash } from 'node:crypto';
import { prefixedHex } from '../../lib/encoding/bytes.ts';
import { type JsonObject, readArray, readString, readU64 } from '../../pchain/codec/json-fields.ts';
import { createWarpSet, type WarpSet } from '../../validators/warp-set.ts';
import { conversionID } from '../../warp/conversion-data.ts';
import {
  type BlockchainID,
  idFromBytes,
  type NodeID,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  parseId,
  parseNodeID,
  type SubnetID,
  type TxID,
  type ValidationID,
} from '../../warp/ids.ts';
import { type NetworkModel, OWNER } from '../network-model.ts';
import type { L1Validator } from '../pchain/l1-history.ts';
import { seededId } from '../seeded-random.ts';
import { CLIENT_NAME, type DevnetValidator, NODE_VERSION } from './devnet-validator.ts';

/** The error of a method, answered as a JSON-RPC error with the code -32000 and this text. */
export class MethodError extends Error {
  override readonly name = 'MethodError';
}

/** Computes a method's result from its params. @throws {MethodError} @throws {ParseError} if the params are malformed */
type Method = (params: JsonObject) => unknown;
export type Methods = Readonly<Record<string, Method>>;

export interface NodeApiSubject {
  readonly model: NetworkModel;
  readonly seed: number;
  /** Node that serves the API. */
  readonly node: DevnetValidator;
  /** Validators that `info.peers` lists; those that do not run are left out. */
  readonly peers: readonly DevnetValidator[];
}

const VERSION = `${CLIENT_NAME}/${NODE_VERSION.major}.${NODE_VERSION.minor}.${NODE_VERSION.patch}`;
/** VM IDs of the reference node; that of subnet-evm is the one of its releases. */
const VM_IDS = {
  coreth: 'mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6',
  avm: 'jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq',
  'subnet-evm': 'srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy',
};
const ACTIVE = '2020-12-05T05:00:00Z';
/** Defaults of a network without a known ID (avalanchego `upgrade/upgrade.go`). */
const UPGRADES = {
  apricotPhase1Time: ACTIVE,
  apricotPhase2Time: ACTIVE,
  apricotPhase3Time: ACTIVE,
  apricotPhase4Time: ACTIVE,
  apricotPhase4MinPChainHeight: 0,
  apricotPhase5Time: ACTIVE,
  apricotPhasePre6Time: ACTIVE,
  apricotPhase6Time: ACTIVE,
  apricotPhasePost6Time: ACTIVE,
  banffTime: ACTIVE,
  cortinaTime: ACTIVE,
  cortinaXChainStopVertexID: P_CHAIN_ID,
  durangoTime: ACTIVE,
  etnaTime: ACTIVE,
  fortunaTime: ACTIVE,
  graniteTime: ACTIVE,
  graniteEpochDuration: 30_000_000_000,
  heliconTime: ACTIVE,
};
const NETWORK_START = 1_791_000_000n;
const YEAR_SECONDS = 31_536_000n;

/** The methods under `/ext/bc/P` (avalanchego `vms/platformvm/service.go`). */
export function createPlatformMethods(subject: NodeApiSubject): Methods {
  const { model } = subject;
  return {
    'platform.getHeight': () => ({ height: String(model.height()) }),
    'platform.getProposedHeight': () => ({ height: String(model.proposedHeight()) }),
    'platform.getTimestamp': () => ({ timestamp: timestampText(model) }),
    'platform.getValidatorFeeState': () => ({ excess: 0, price: 1, timestamp: timestampText(model) }),
    ...createValidatorMethods(subject),
    ...createSubnetMethods(model),
    ...createLedgerMethods(model),
  };
}

function createValidatorMethods({ model, seed }: NodeApiSubject): Methods {
  return {
    'platform.getValidatorsAt': (params) => getValidatorsAt(model, params),
    'platform.getAllValidatorsAt': (params) => getAllValidatorsAt(model, params),
    'platform.getCurrentValidators': (params) => {
      const subnetID = readSubnetID(params);
      const isWanted = readNodeFilter(params);
      if (subnetID !== PRIMARY_NETWORK_ID) {
        return { validators: model.l1Validators(subnetID).map(describeL1Validator).filter(isWanted) };
      }
      return { validators: primaryValidators(model, seed).filter(isWanted) };
    },
    'platform.getL1Validator': (params) => {
      const validationID = parseId<ValidationID>(readString(params.validationID, 'validationID'), 'validationID');
      const validator = model.l1Validator(validationID);
      if (validator === undefined) {
        throw new MethodError(`fetching L1 validator "${validationID}" failed: not found`);
      }
      return { ...describeL1Validator(validator), subnetID: validator.subnetID, height: String(model.height()) };
    },
  };
}

function createSubnetMethods(model: NetworkModel): Methods {
  const { l1, cChain, strictChain, xChainID } = model;
  return {
    'platform.validatedBy': (params) => {
      const blockchainID = parseId<BlockchainID>(readString(params.blockchainID, 'blockchainID'), 'blockchainID');
      const subnetID = model.validatedBy(blockchainID);
      if (subnetID === undefined) {
        throw new MethodError(`problem retrieving blockchain "${blockchainID}": not found`);
      }
      return { subnetID };
    },
    'platform.getSubnet': (params) => {
      const subnetID = readSubnetID(params);
      if (subnetID === PRIMARY_NETWORK_ID) throw new MethodError("the primary network isn't a subnet");
      if (!model.hasSubnet(subnetID)) throw new MethodError('not found');
      const conversion = model.conversions().find((one) => one.subnetID === subnetID);
      const id = conversion && conversionID(conversion);
      return {
        isPermissioned: conversion === undefined,
        controlKeys: [OWNER],
        threshold: '1',
        locktime: '0',
        subnetTransformationTxID: P_CHAIN_ID,
        conversionID: id === undefined ? P_CHAIN_ID : idFromBytes(id, 'conversionID'),
        managerChainID: conversion?.managerChainID ?? P_CHAIN_ID,
        managerAddress: conversion === undefined ? null : prefixedHex(conversion.managerAddress),
      };
    },
    'platform.getBlockchains': () => ({
      blockchains: [
        { id: l1.blockchainID, name: 'devnet L1', subnetID: l1.subnetID, vmID: VM_IDS['subnet-evm'] },
        { id: strictChain.blockchainID, name: 'strict', subnetID: l1.subnetID, vmID: VM_IDS['subnet-evm'] },
        { id: cChain.blockchainID, name: 'C-Chain', subnetID: PRIMARY_NETWORK_ID, vmID: VM_IDS.coreth },
        { id: xChainID, name: 'X-Chain', subnetID: PRIMARY_NETWORK_ID, vmID: VM_IDS.avm },
      ],
    }),
  };
}

function createLedgerMethods(model: NetworkModel): Methods {
  const { ledger } = model;
  return {
    'platform.getTx': (params) => {
      const transaction = ledger.transaction(readTxID(params));
      if (transaction === undefined || transaction.height > model.height()) {
        throw new MethodError("couldn't get tx: not found");
      }
      return { tx: inEncoding(params, transaction), encoding: readEncoding(params) };
    },
    'platform.getTxStatus': (params) => {
      const txID = readTxID(params);
      const transaction = ledger.transaction(txID);
      if (transaction !== undefined && transaction.height <= model.height()) return { status: 'Committed' };
      return { status: transaction !== undefined || txID === ledger.processing.id ? 'Processing' : 'Unknown' };
    },
    'platform.getBlockByHeight': (params) => {
      const wanted = readU64(params.height, 'height');
      if (wanted > model.height()) throw new MethodError(`couldn't get block at height ${wanted}: not found`);
      return { block: inEncoding(params, ledger.block(wanted)), encoding: readEncoding(params) };
    },
  };
}

/** The methods under `/ext/bc/X` (avalanchego `vms/avm/service.go`). */
export function createAvmMethods({ model }: NodeApiSubject): Methods {
  return {
    'avm.getTx': (params) => {
      const { id, bytes } = model.ledger.ofXChain;
      if (readTxID(params) !== id) throw new MethodError('not found');
      if (readEncoding(params) === 'json') throw new MethodError('this network has it in hex only');
      return { tx: withChecksum(bytes), encoding: 'hex' };
    },
  };
}

/** The methods under `/ext/bc/<chain>/proposervm` (avalanchego `vms/proposervm/service.go`). */
export function createProposervmMethods({ model }: NodeApiSubject): Methods {
  return {
    'proposervm.getProposedHeight': () => ({ height: String(model.proposedHeight()) }),
    'proposervm.getCurrentEpoch': () => {
      const { number, startTime, pChainHeight } = model.epoch();
      return { number: String(number), startTime: String(startTime), pChainHeight: String(pChainHeight) };
    },
  };
}

/** The methods under `/ext/info` (avalanchego `api/info/service.go`). */
export function createInfoMethods({ model, node, peers }: NodeApiSubject): Methods {
  return {
    'info.getNetworkID': () => ({ networkID: String(model.networkID) }),
    'info.getNodeVersion': () => ({
      version: VERSION,
      databaseVersion: 'v1.4.5',
      rpcProtocolVersion: '45',
      gitCommit: '',
      vmVersions: { avm: VERSION, evm: `v${VERSION.slice(CLIENT_NAME.length + 1)}`, platform: VERSION },
    }),
    'info.getNodeID': () => {
      const proofOfPossession = node.surroundings.keys.provePossession(node.role.keyIndex);
      const nodePOP = { publicKey: prefixedHex(node.publicKey), proofOfPossession: prefixedHex(proofOfPossession) };
      return { nodeID: node.nodeID, nodePOP };
    },
    'info.upgrades': () => UPGRADES,
    'info.getNodeIP': () => ({ ip: addressText(node) }),
    'info.peers': (params) => {
      const listed = listPeers(node, peers).filter(readNodeFilter(params));
      return { numPeers: String(listed.length), peers: listed };
    },
  };
}

function listPeers(node: DevnetValidator, peers: readonly DevnetValidator[]) {
  const now = new Date(node.surroundings.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const validators = peers
    .filter(({ isRunning }) => isRunning)
    .map((peer) => ({
      nodeID: peer.nodeID,
      ip: addressText(peer),
      trackedSubnets: peer.role.trackedSubnets,
      uptime: '100',
    }));
  // Clients are peers as well; most of them cannot be dialled at the address that they state.
  const clients = node.connectedPeers.map(({ nodeID, handshake }) => ({
    nodeID,
    ip: `${handshake.address.host}:${handshake.address.port}`,
    trackedSubnets: handshake.trackedSubnets.map((subnet) => idFromBytes<SubnetID>(subnet, 'subnetID')),
    uptime: '0',
  }));
  return [...validators, ...clients].map(({ nodeID, ip, trackedSubnets, uptime }) => ({
    ip,
    publicIP: ip,
    nodeID,
    version: VERSION,
    upgradeTime: 1_607_144_400,
    lastSent: now,
    lastReceived: now,
    observedUptime: uptime,
    trackedSubnets: [PRIMARY_NETWORK_ID, ...trackedSubnets],
    supportedACPs: [],
    objectedACPs: [],
    benched: [],
  }));
}

function getValidatorsAt(model: NetworkModel, params: JsonObject): unknown {
  const subnetID = readSubnetID(params);
  const height = readHeight(model, params, 'validator set', ` with SubnetID = ${subnetID}`);
  const entries = model
    .validatorsAt(subnetID, height)
    .map(({ nodeID, publicKey, weight }): [NodeID, unknown] => [
      nodeID,
      { publicKey: publicKey === undefined ? null : prefixedHex(publicKey), weight: String(weight) },
    ]);
  return inTextOrder(entries);
}

/** The canonical sets of all subnets with validators (avalanchego `snow/validators/warp.go`). */
function getAllValidatorsAt(model: NetworkModel, params: JsonObject): unknown {
  const height = readHeight(model, params, 'validator sets');
  const subnetIDs = [PRIMARY_NETWORK_ID, ...model.conversions().map(({ subnetID }) => subnetID)];
  const sets = subnetIDs.map((subnetID): [SubnetID, WarpSet] => [
    subnetID,
    createWarpSet(model.validatorsAt(subnetID, height)),
  ]);
  const entries = sets
    .filter(([, { totalWeight }]) => totalWeight > 0n)
    .map(([subnetID, { validators, totalWeight }]): [SubnetID, unknown] => [
      subnetID,
      {
        validators: validators.map(({ publicKey, weight, nodeIDs }) => ({
          publicKey: prefixedHex(publicKey),
          weight: String(weight),
          nodeIDs,
        })),
        totalWeight: String(totalWeight),
      },
    ]);
  return { validatorSets: inTextOrder(entries) };
}

function readHeight(model: NetworkModel, params: JsonObject, what: string, subject = ''): bigint {
  const { height: wanted = 0 } = params;
  const height = wanted === 'proposed' ? model.proposedHeight() : readU64(wanted, 'height');
  const current = model.height();
  if (height <= current) return height;
  const reason = `current P-chain height (${current}) < requested P-Chain height (${height})`;
  throw new MethodError(
    `failed to get ${what} at ${height}: failed to fetch validator set at unfinalized height${subject}: ${reason}`,
  );
}

/** Sorts entries by key, as Go's JSON encoder does. */
function inTextOrder(entries: readonly [string, unknown][]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const OUTPUT_OWNER = { locktime: '0', threshold: '1', addresses: [OWNER] };

function describeL1Validator({ nodeID, weight, validationID, publicKey, minNonce, balance }: L1Validator) {
  return {
    nodeID,
    weight: String(weight),
    startTime: String(NETWORK_START),
    validationID,
    publicKey: prefixedHex(publicKey),
    remainingBalanceOwner: OUTPUT_OWNER,
    deactivationOwner: OUTPUT_OWNER,
    minNonce: String(minNonce),
    balance: String(balance),
  };
}

/** Fields of auto-renewed validators (ACP-236), which are every second one here. */
const AUTO_RENEWAL = {
  validatorAuthority: OUTPUT_OWNER,
  nextPeriod: String(YEAR_SECONDS),
  autoCompoundRewardShares: '300000',
};

/** Validators in the node's format without proofs of possession, each of which takes 20 ms. */
function primaryValidators(model: NetworkModel, seed: number) {
  return model.primaryValidators.map(({ nodeID, weight, publicKey }, index) => ({
    txID: seededId<TxID>(seed, `staking transaction of ${nodeID}`),
    startTime: String(NETWORK_START),
    endTime: String(NETWORK_START + YEAR_SECONDS),
    weight: String(weight),
    nodeID,
    validationRewardOwner: OUTPUT_OWNER,
    delegationRewardOwner: OUTPUT_OWNER,
    potentialReward: '0',
    accruedDelegateeReward: '0',
    delegationFee: '2.0000',
    uptime: '100.0000',
    connected: true,
    ...(publicKey === undefined ? {} : { signer: { publicKey: prefixedHex(publicKey) } }),
    delegatorCount: '0',
    delegatorWeight: '0',
    ...(index % 2 === 1 && AUTO_RENEWAL),
  }));
}

/** The primary network by default. */
function readSubnetID(params: JsonObject): SubnetID {
  const { subnetID } = params;
  if (subnetID === undefined || subnetID === null) return PRIMARY_NETWORK_ID;
  return parseId<SubnetID>(readString(subnetID, 'subnetID'), 'subnetID');
}

/** Returns a filter that admits all nodes if `nodeIDs` is missing or empty. */
function readNodeFilter({ nodeIDs }: JsonObject): (entry: { readonly nodeID: NodeID }) => boolean {
  const wanted = new Set(
    readArray(nodeIDs ?? [], 'nodeIDs').map((nodeID) => parseNodeID(readString(nodeID, 'nodeID'))),
  );
  return ({ nodeID }) => wanted.size === 0 || wanted.has(nodeID);
}

function readTxID(params: JsonObject): TxID {
  return parseId<TxID>(readString(params.txID, 'txID'), 'txID');
}

function readEncoding({ encoding }: JsonObject): 'hex' | 'json' {
  if (encoding === undefined || encoding === 'hex') return 'hex';
  if (encoding === 'json') return 'json';
  throw new MethodError('invalid encoding');
}

function inEncoding(params: JsonObject, { bytes, json }: { bytes: Uint8Array; json: unknown }): unknown {
  return readEncoding(params) === 'json' ? json : withChecksum(bytes);
}

/** Encodes bytes like the node, followed by the last 4 bytes of their SHA-256. */
function withChecksum(bytes: Uint8Array): string {
  return `${prefixedHex(bytes)}${hash('sha256', bytes).slice(-8)}`;
}

function timestampText(model: NetworkModel): string {
  return new Date(Number(model.timestamp()) * 1_000).toISOString().replace('.000Z', 'Z');
}

function addressText({ address: { host, port } }: DevnetValidator): string {
  return `${host}:${port}`;
}
