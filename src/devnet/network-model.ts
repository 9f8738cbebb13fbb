import { bech32 } from '@scure/base';
import type { Clock, Random } from '../lib/concurrency/clock.ts';
import type { Validator } from '../validators/validator.ts';
import { type ConversionData, type ConversionValidator, conversionID } from '../warp/conversion-data.ts';
import {
  type BlockchainID,
  type NodeID,
  nodeIDBytes,
  nodeIDFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type ValidationID,
} from '../warp/ids.ts';
import { conversionValidationID, type RegisterL1Validator, registrationValidationID } from '../warp/l1-message.ts';
import { createUptimeWatch } from './node/uptime-watch.ts';
import { EvmChain } from './pchain/evm-chain.ts';
import { createL1History, type L1Event, type L1Validator } from './pchain/l1-history.ts';
import { PChainLedger } from './pchain/p-chain-ledger.ts';
import { createSeededRandom, seededBytes, seededId } from './seeded-random.ts';

/** Neither that of a public network (1, 5) nor the default of the reference node (12345). */
const NETWORK_ID = 1337;

/** A node as the P-Chain knows it. */
export interface ModelNode {
  readonly nodeID: NodeID;
  /** 48 bytes, compressed G1. */
  readonly publicKey: Uint8Array;
}

interface NetworkModelOptions {
  readonly seed: number;
  readonly clock: Clock;
  /** Validators of the primary network; the first three validate the L1 as well, or did. */
  readonly primaryNodes: readonly ModelNode[];
  /** Validators of the L1 alone: {@link L1_ONLY_COUNT}. */
  readonly l1OnlyNodes: readonly ModelNode[];
  /** The L1 validator that ran out of balance; its node does not run. */
  readonly inactiveNode: ModelNode;
  /** Execution lag of the C-Chain; 0 by default. */
  readonly executionLagMs?: number;
  /** Primary validators that registered no BLS key. */
  readonly keyless?: ReadonlySet<NodeID>;
}

export const L1_ONLY_COUNT = 2;
/** Primary validators with a part in the L1's history. */
export const MIN_PRIMARY_NODES = 3;

/** Heights of the L1's events with a transaction. */
const HEIGHTS = {
  conversion: 100n,
  registration: 120n,
  overtakenWeightChange: 130n,
  weightChange: 140n,
  balanceIncrease: 150n,
  removal: 160n,
  usedUpRegistration: 165n,
  registeredRemoval: 175n,
  disabling: 185n,
} as const;
const DEACTIVATION_HEIGHT = 180n;
const OLDER_L1_HEIGHT = 110n;
const FIRST_HEIGHT = 200n;
/** About the pace of the real P-Chain: slow enough that caches by height matter, fast enough to see it move. */
const BLOCK_INTERVAL_MS = 10_000;
/** Indices in the conversion: of the validator that is removed, and of that whose node does not run. */
const REMOVED_INDEX = 2;
const INACTIVE_INDEX = 3;
const BLOCKS_PER_EPOCH = 3n;
/** How long a registration message may be used, in seconds: a day is the most that the P-Chain takes. */
const REGISTRATION_LIFETIME = 86_400n;

/** In nAVAX: of public networks' size, so that their sums are far beyond 2^53. */
const MIN_STAKE = 500_000n * 10n ** 9n;
const MAX_STAKE = 3_000_000n * 10n ** 9n;

/** Facts about the L1's validators that the P-Chain's validators can sign. */
interface L1Story {
  /** A validator that registered after the conversion and still is one. */
  readonly registered: ValidationID;
  /** A validator of the conversion, by its index there, that was removed since. */
  readonly removed: { readonly validationID: ValidationID; readonly index: number };
  /** A registration that was used up before its expiry. */
  readonly removedRegistration: RegisterL1Validator;
  /** A registration that was never used, and has expired. */
  readonly expiredRegistration: RegisterL1Validator;
  /** The last weight change. */
  readonly weightChange: { readonly validationID: ValidationID; readonly nonce: bigint; readonly weight: bigint };
}

/** The L1 as the P-Chain knows it. */
interface ModelL1 {
  readonly subnetID: SubnetID;
  readonly blockchainID: BlockchainID;
  readonly conversion: ConversionData;
  readonly story: L1Story;
  /** P-Chain heights of its events with a transaction. */
  readonly heights: typeof HEIGHTS;
  /** Address of the validator manager on the L1's chain, which exchanges messages with the P-Chain: 20 bytes. */
  readonly managerAddress: Uint8Array;
  /** A height with another validator set, which can still sign. */
  readonly olderHeight: bigint;
}

/**
 * The P-Chain and the chains that it knows, without sockets: the validators of each subnet at each height, and the emitted messages.
 *
 * The L1's history, by P-Chain height: 100 conversion with five validators, 120 registration of a sixth, 130 and 140 the weight of the
 * second becomes 200 and 350, 160 the third is removed, 165 its node registers again, 175 that is removed too, 180 the fourth runs out of
 * balance. Between them, 150 tops up a balance and 185 disables the fourth, which changes nothing any more.
 */
export interface NetworkModel {
  readonly networkID: number;
  readonly cChain: EvmChain;
  readonly l1Chain: EvmChain;
  /** Verifies messages of the C-Chain with signatures of the primary network, and needs 80 % of the weight. It sends none. */
  readonly strictChain: EvmChain;
  readonly xChainID: BlockchainID;
  readonly l1: ModelL1;
  readonly primaryValidators: readonly Validator[];
  readonly ledger: PChainLedger;
  /** Height of the last accepted block. Rises by one every {@link BLOCK_INTERVAL_MS}. */
  height(): bigint;
  /** One below the height: a block that is proposed now refers to a height that all nodes have reached. */
  proposedHeight(): bigint;
  /** Unix seconds. */
  timestamp(): bigint;
  /** The epoch of every chain: they all begin together, three blocks long. Its start is in Unix seconds. */
  epoch(): { readonly number: bigint; readonly startTime: bigint; readonly pChainHeight: bigint };
  /** The current validators of the L1, inactive ones too. */
  l1Validators(): readonly L1Validator[];
  l1Validator(validationID: ValidationID): L1Validator | undefined;
  /** Whether a RegisterL1Validator message was used before: it can never be used again, not even before its expiry. */
  wasRegistered(validationID: ValidationID): boolean;
  /** 32 bytes, or undefined if the subnet was never converted. */
  conversionID(subnetID: SubnetID): Uint8Array | undefined;
  /** Empty for an unknown subnet, and for the L1 before its conversion. */
  validatorsAt(subnetID: SubnetID, atHeight: bigint): readonly Validator[];
  /** Undefined for an unknown blockchain. */
  validatedBy(blockchainID: BlockchainID): SubnetID | undefined;
}

export function createNetworkModel(options: NetworkModelOptions): NetworkModel {
  const { seed, clock } = options;
  const { l1, history, events } = createL1(options);
  const l1Validators = (): readonly L1Validator[] => [...history.current.values()];
  const chains = createChains(options, l1, l1Validators);
  const { xChainID, cChain, strictChain } = chains;
  const primaryValidators = createPrimaryValidators(options);
  const l1ConversionID = conversionID(l1.conversion);
  const { height, timeOf } = startBlocks(clock);
  return {
    networkID: NETWORK_ID,
    ...chains,
    l1,
    primaryValidators,
    ledger: new PChainLedger({ seed, networkID: NETWORK_ID, owner: OWNERS, events, timeOf, ...l1.conversion }),
    height,
    proposedHeight: () => height() - 1n,
    timestamp: () => nowSeconds(clock),
    epoch() {
      const number = (height() - FIRST_HEIGHT) / BLOCKS_PER_EPOCH;
      const first = FIRST_HEIGHT + number * BLOCKS_PER_EPOCH;
      return { number: number + 1n, startTime: timeOf(first), pChainHeight: first - 1n };
    },
    l1Validators,
    l1Validator: (validationID) => history.current.get(validationID),
    wasRegistered: (validationID) => history.registered.has(validationID),
    conversionID: (subnetID) => (subnetID === l1.subnetID ? l1ConversionID : undefined),
    validatorsAt(subnetID, atHeight) {
      if (subnetID === PRIMARY_NETWORK_ID) return primaryValidators;
      return subnetID === l1.subnetID ? history.validatorsAt(atHeight) : [];
    },
    validatedBy(blockchainID) {
      if ([l1.blockchainID, strictChain.blockchainID].includes(blockchainID)) return l1.subnetID;
      const isPrimary = [P_CHAIN_ID, xChainID, cChain.blockchainID].includes(blockchainID);
      return isPrimary ? PRIMARY_NETWORK_ID : undefined;
    },
  };
}

/** Returns the height, and the time of the block at a height in Unix seconds. */
function startBlocks(clock: Clock) {
  const startedMs = clock.monotonicMs();
  const startTime = nowSeconds(clock);
  return {
    height: () => FIRST_HEIGHT + BigInt(Math.floor((clock.monotonicMs() - startedMs) / BLOCK_INTERVAL_MS)),
    timeOf: (atHeight: bigint) => startTime + (atHeight - FIRST_HEIGHT) * BigInt(BLOCK_INTERVAL_MS / 1_000),
  };
}

function createChains(
  { seed, clock, executionLagMs = 0 }: NetworkModelOptions,
  { blockchainID, managerAddress }: ModelL1,
  l1Validators: () => readonly L1Validator[],
) {
  const common = { networkID: NETWORK_ID, clock };
  return {
    xChainID: seededId<BlockchainID>(seed, 'X-Chain'),
    cChain: new EvmChain({
      ...common,
      vm: 'coreth',
      blockchainID: seededId(seed, 'C-Chain'),
      sender: seededBytes(seed, 'C-Chain sender', 20),
      executionLagMs,
    }),
    l1Chain: new EvmChain({
      ...common,
      vm: 'subnet-evm',
      blockchainID,
      sender: managerAddress,
      uptimes: createUptimeWatch(clock, l1Validators),
    }),
    strictChain: new EvmChain({
      ...common,
      vm: 'subnet-evm',
      blockchainID: seededId(seed, 'strict chain'),
      sender: seededBytes(seed, 'strict chain sender', 20),
      warpConfig: { quorumNumerator: 80, requirePrimaryNetworkSigners: true },
    }),
  };
}

function createPrimaryValidators({ seed, primaryNodes, keyless }: NetworkModelOptions): Validator[] {
  const stakes = unevenStakes(primaryNodes.length, createSeededRandom(seed));
  return primaryNodes.map(({ nodeID, publicKey }, index) => ({
    nodeID,
    publicKey: keyless?.has(nodeID) ? undefined : publicKey,
    weight: stakes[index] ?? MIN_STAKE,
  }));
}

function createL1({ seed, clock, primaryNodes, l1OnlyNodes, inactiveNode }: NetworkModelOptions) {
  const [first, removed, third] = primaryNodes;
  const [l1Only, registered] = l1OnlyNodes;
  if (!first || !removed || !third || !l1Only || !registered) {
    throw new RangeError(`the L1 needs ${MIN_PRIMARY_NODES} primary validators and ${L1_ONLY_COUNT} of its own`);
  }
  const conversion = createConversion(seed, [
    withWeight(first, 100n),
    withWeight(l1Only, 100n),
    withWeight(removed, 100n),
    withWeight(inactiveNode, 60n),
    withWeight(third, 150n),
  ]);
  const { subnetID, managerChainID: blockchainID, managerAddress } = conversion;
  const now = nowSeconds(clock);
  const expiry = now + REGISTRATION_LIFETIME / 2n;
  const registration = createRegistration(subnetID, withWeight(registered, 250n), expiry);
  const story: L1Story = {
    registered: registrationValidationID(registration),
    removed: { validationID: conversionValidationID(subnetID, REMOVED_INDEX), index: REMOVED_INDEX },
    removedRegistration: createRegistration(subnetID, withWeight(removed, 40n), expiry),
    expiredRegistration: createRegistration(subnetID, withWeight(removed, 70n), now - 1n),
    weightChange: { validationID: conversionValidationID(subnetID, 1), nonce: 1n, weight: 350n },
  };
  const l1 = {
    subnetID,
    blockchainID,
    conversion,
    story,
    heights: HEIGHTS,
    managerAddress,
    olderHeight: OLDER_L1_HEIGHT,
  };
  const events = eventsOf(l1, registration);
  return { l1, events, history: createL1History(events) };
}

function createConversion(seed: number, validators: readonly ConversionValidator[]): ConversionData {
  return {
    subnetID: seededId(seed, 'L1 subnet'),
    managerChainID: seededId(seed, 'L1 chain'),
    managerAddress: seededBytes(seed, 'L1 validator manager', 20),
    validators,
  };
}

/** @param registration of the validator that still is one */
function eventsOf({ subnetID, conversion, story }: ModelL1, registration: RegisterL1Validator): readonly L1Event[] {
  const { registered, removed, removedRegistration, weightChange } = story;
  const { validationID: changed, weight } = weightChange;
  const inactive = conversionValidationID(subnetID, INACTIVE_INDEX);
  return [
    { height: HEIGHTS.conversion, kind: 'conversion', data: conversion },
    { height: HEIGHTS.registration, kind: 'registration', message: registration },
    { height: HEIGHTS.overtakenWeightChange, kind: 'weight change', validationID: changed, weight: 200n },
    { height: HEIGHTS.weightChange, kind: 'weight change', validationID: changed, weight },
    { height: HEIGHTS.balanceIncrease, kind: 'balance increase', validationID: registered },
    { height: HEIGHTS.removal, kind: 'removal', validationID: removed.validationID },
    { height: HEIGHTS.usedUpRegistration, kind: 'registration', message: removedRegistration },
    {
      height: HEIGHTS.registeredRemoval,
      kind: 'removal',
      validationID: registrationValidationID(removedRegistration),
    },
    { height: DEACTIVATION_HEIGHT, kind: 'deactivation', validationID: inactive },
    { height: HEIGHTS.disabling, kind: 'disabling', validationID: inactive },
  ];
}

function withWeight({ nodeID, publicKey }: ModelNode, weight: bigint): ConversionValidator {
  return { nodeID: nodeIDBytes(nodeID), blsPublicKey: publicKey, weight };
}

function createRegistration(subnetID: SubnetID, validator: ConversionValidator, expiry: bigint): RegisterL1Validator {
  return {
    kind: 'RegisterL1Validator',
    subnetID,
    ...validator,
    expiry,
    remainingBalanceOwner: OWNERS,
    disableOwner: OWNERS,
  };
}

/**
 * Spread evenly between the smallest and the largest stake, in random order, down to the last nAVAX. Of five or more validators
 * none has a third of the weight: without any one of them two thirds can still be reached.
 */
function unevenStakes(count: number, random: Random): bigint[] {
  const step = (MAX_STAKE - MIN_STAKE) / BigInt(count);
  const stakes = Array.from(
    { length: count },
    (_, index) => MIN_STAKE + step * BigInt(index) + step / 2n + BigInt(Math.floor(random() * 1e9)),
  );
  return stakes
    .map((stake) => ({ stake, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ stake }) => stake);
}

function nowSeconds(clock: Clock): bigint {
  return BigInt(Math.floor(clock.now() / 1000));
}

/** Address that owns all funds and subnets of this network. */
const OWNER_ADDRESS = seededBytes(0, 'owner', 20);
const OWNERS = { threshold: 1, addresses: [OWNER_ADDRESS] };
/** In the P-Chain's text form; networks that are not known by name have the prefix `custom`. */
export const OWNER = `P-${bech32.encode('custom', bech32.toWords(OWNER_ADDRESS))}`;

/** The NodeID of the L1 validator whose node does not run. */
export function createAbsentNodeID(seed: number): NodeID {
  return nodeIDFromBytes(seededBytes(seed, 'absent node', 20));
}
