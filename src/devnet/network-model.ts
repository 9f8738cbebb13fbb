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
/** Index in the conversion of the validator whose node does not run. */
const INACTIVE_INDEX = 3;
const BLOCKS_PER_EPOCH = 3n;
/** How long a registration message may be used, in seconds: a day is the most that the P-Chain takes. */
const REGISTRATION_LIFETIME = 86_400n;

/** In nAVAX: of public networks' size, so that their sums are far beyond 2^53. */
const MIN_STAKE = 500_000n * 10n ** 9n;
const MAX_STAKE = 3_000_000n * 10n ** 9n;

/**
 * The P-Chain and the chains that it knows, without sockets: the validators of each subnet at each height, and the emitted messages.
 *
 * The L1's history, by P-Chain height: 100 conversion with five validators, 120 registration of a sixth, 130 and 140 the weight of the
 * second becomes 200 and 350, 160 the third is removed, 165 its node registers again, 175 that is removed too, 180 the fourth runs out of
 * balance. Between them, 150 tops up a balance and 185 disables the fourth, which changes nothing any more.
 */
export type NetworkModel = ReturnType<typeof createNetworkModel>;

export function createNetworkModel(options: NetworkModelOptions) {
  const { seed, clock, primaryNodes, keyless, executionLagMs = 0 } = options;
  const startedMs = clock.monotonicMs();
  const { l1, history, events } = createL1(options);
  const xChainID = seededId<BlockchainID>(seed, 'X-Chain');
  const cChain = new EvmChain({
    vm: 'coreth',
    networkID: NETWORK_ID,
    blockchainID: seededId(seed, 'C-Chain'),
    sender: seededBytes(seed, 'C-Chain sender', 20),
    clock,
    executionLagMs,
  });
  const l1Validators = (): readonly L1Validator[] => [...history.current.values()];
  const l1Chain = new EvmChain({
    vm: 'subnet-evm',
    networkID: NETWORK_ID,
    blockchainID: l1.blockchainID,
    sender: l1.managerAddress,
    clock,
    uptimes: createUptimeWatch(clock, l1Validators),
  });
  // A second chain of the L1's subnet. It sends no messages.
  const strictChain = new EvmChain({
    vm: 'subnet-evm',
    clock,
    networkID: NETWORK_ID,
    blockchainID: seededId(seed, 'strict chain'),
    sender: seededBytes(seed, 'strict chain sender', 20),
    warpConfig: { quorumNumerator: 80, requirePrimaryNetworkSigners: true },
  });
  const stakes = unevenStakes(primaryNodes.length, createSeededRandom(seed));
  const primaryValidators = primaryNodes.map(
    ({ nodeID, publicKey }, index): Validator => ({
      nodeID,
      publicKey: keyless?.has(nodeID) ? undefined : publicKey,
      weight: stakes[index] ?? MIN_STAKE,
    }),
  );
  const l1ConversionID = conversionID(l1.conversion);
  /** Height of the last accepted block. Rises by one every {@link BLOCK_INTERVAL_MS}. */
  const height = (): bigint => FIRST_HEIGHT + BigInt(Math.floor((clock.monotonicMs() - startedMs) / BLOCK_INTERVAL_MS));
  const startTime = nowSeconds(clock);
  const timeOf = (atHeight: bigint): bigint =>
    startTime + (atHeight - FIRST_HEIGHT) * BigInt(BLOCK_INTERVAL_MS / 1_000);
  const ledger = new PChainLedger({ seed, networkID: NETWORK_ID, owner: OWNERS, events, timeOf, ...l1.conversion });
  return {
    networkID: NETWORK_ID,
    cChain,
    l1Chain,
    /** Verifies messages of the C-Chain with signatures of the primary network, and needs 80 % of the weight. */
    strictChain,
    xChainID,
    l1,
    primaryValidators,
    ledger,
    height,
    l1Validators,
    /** Unix seconds. */
    timestamp: () => nowSeconds(clock),
    l1Validator: (validationID: ValidationID) => history.current.get(validationID),
    /** Whether a RegisterL1Validator message was used before: it can never be used again, not even before its expiry. */
    wasRegistered: (validationID: ValidationID) => history.registered.has(validationID),
    /** 32 bytes, or undefined if the subnet was never converted. */
    conversionID: (subnetID: SubnetID) => (subnetID === l1.subnetID ? l1ConversionID : undefined),
    /** The epoch of every chain: they all begin together, three blocks long. */
    epoch() {
      const number = (height() - FIRST_HEIGHT) / BLOCKS_PER_EPOCH;
      const first = FIRST_HEIGHT + number * BLOCKS_PER_EPOCH;
      return { number: number + 1n, startTime: timeOf(first), pChainHeight: first - 1n };
    },
    /** One below the height: a block that is proposed now refers to a height that all nodes have reached. */
    proposedHeight: () => height() - 1n,
    /** Empty for an unknown subnet, and for the L1 before its conversion. */
    validatorsAt(subnetID: SubnetID, atHeight: bigint): readonly Validator[] {
      if (subnetID === PRIMARY_NETWORK_ID) return primaryValidators;
      return subnetID === l1.subnetID ? history.validatorsAt(atHeight) : [];
    },
    /** Undefined for an unknown blockchain. */
    validatedBy(blockchainID: BlockchainID): SubnetID | undefined {
      if ([l1.blockchainID, strictChain.blockchainID].includes(blockchainID)) return l1.subnetID;
      const isPrimary = [P_CHAIN_ID, xChainID, cChain.blockchainID].includes(blockchainID);
      return isPrimary ? PRIMARY_NETWORK_ID : undefined;
    },
  };
}

function createL1({ seed, clock, primaryNodes, l1OnlyNodes, inactiveNode }: NetworkModelOptions) {
  const [first, removed, third] = primaryNodes;
  const [l1Only, registered] = l1OnlyNodes;
  if (!first || !removed || !third || !l1Only || !registered) {
    throw new RangeError(`the L1 needs ${MIN_PRIMARY_NODES} primary validators and ${L1_ONLY_COUNT} of its own`);
  }
  const subnetID = seededId<SubnetID>(seed, 'L1 subnet');
  const blockchainID = seededId<BlockchainID>(seed, 'L1 chain');
  const managerAddress = seededBytes(seed, 'L1 validator manager', 20);
  const conversion: ConversionData = {
    subnetID,
    managerChainID: blockchainID,
    managerAddress,
    validators: [
      withWeight(first, 100n),
      withWeight(l1Only, 100n),
      withWeight(removed, 100n),
      withWeight(inactiveNode, 60n),
      withWeight(third, 150n),
    ],
  };
  const now = nowSeconds(clock);
  const expiry = now + REGISTRATION_LIFETIME / 2n;
  const registration = createRegistration(subnetID, withWeight(registered, 250n), expiry);
  const removedRegistration = createRegistration(subnetID, withWeight(removed, 40n), expiry);
  const changedID = conversionValidationID(subnetID, 1);
  const removedID = conversionValidationID(subnetID, 2);
  const inactiveID = conversionValidationID(subnetID, INACTIVE_INDEX);
  const registeredID = registrationValidationID(registration);
  const removedRegistrationID = registrationValidationID(removedRegistration);
  const events: readonly L1Event[] = [
    { height: HEIGHTS.conversion, kind: 'conversion', data: conversion },
    { height: HEIGHTS.registration, kind: 'registration', message: registration },
    { height: HEIGHTS.overtakenWeightChange, kind: 'weight change', validationID: changedID, weight: 200n },
    { height: HEIGHTS.weightChange, kind: 'weight change', validationID: changedID, weight: 350n },
    { height: HEIGHTS.balanceIncrease, kind: 'balance increase', validationID: registeredID },
    { height: HEIGHTS.removal, kind: 'removal', validationID: removedID },
    { height: HEIGHTS.usedUpRegistration, kind: 'registration', message: removedRegistration },
    { height: HEIGHTS.registeredRemoval, kind: 'removal', validationID: removedRegistrationID },
    { height: DEACTIVATION_HEIGHT, kind: 'deactivation', validationID: inactiveID },
    { height: HEIGHTS.disabling, kind: 'disabling', validationID: inactiveID },
  ];
  /** Facts that the P-Chain's validators can sign. */
  const story = {
    /** A validator that registered after the conversion and still is one. */
    registered: registeredID,
    /** A validator of the conversion that was removed since. */
    removed: { validationID: removedID, index: 2 },
    /** A registration that was used up before its expiry. */
    removedRegistration,
    /** A registration that was never used, and has expired. */
    expiredRegistration: createRegistration(subnetID, withWeight(removed, 70n), now - 1n),
    /** The last weight change. */
    weightChange: { validationID: changedID, nonce: 1n, weight: 350n },
  };
  const l1 = {
    subnetID,
    blockchainID,
    conversion,
    story,
    heights: HEIGHTS,
    /** Address of the validator manager on the L1's chain, which exchanges messages with the P-Chain. */
    managerAddress,
    /** A height with another validator set, which can still sign. */
    olderHeight: OLDER_L1_HEIGHT,
  };
  return { l1, events, history: createL1History(events) };
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
