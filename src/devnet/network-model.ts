import { bech32 } from '@scure/base';
import type { Clock } from '../lib/concurrency/clock.ts';
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
import { executeTransaction, TransactionRefused } from './pchain/execute-transaction.ts';
import { INITIAL_BALANCE, type L1Event, L1History, type L1Validator } from './pchain/l1-history.ts';
import { type LedgerTransaction, PChainLedger, type TransactionContent } from './pchain/p-chain-ledger.ts';
import { createPrimaryValidators } from './primary-validators.ts';
import { seededBytes, seededId } from './seeded-random.ts';

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
  /** Time between P-Chain blocks. By default about the pace of the real P-Chain: caches by height matter, and one sees it move. */
  readonly blockIntervalMs?: number;
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
const BLOCK_INTERVAL_MS = 10_000;
/** Indices in the conversion: of the validator that is removed, and of that whose node does not run. */
const REMOVED_INDEX = 2;
const INACTIVE_INDEX = 3;
const BLOCKS_PER_EPOCH = 3n;
/** How long a registration message may be used, in seconds: a day is the most that the P-Chain takes. */
const REGISTRATION_LIFETIME = 86_400n;
/** Transactions of clients: each keeps the validators after it. */
const MAX_TRANSACTIONS = 1_000;

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

/** A transaction that the next block accepts. */
export interface IssuedTransaction {
  readonly content: TransactionContent;
  readonly transaction: LedgerTransaction;
  readonly height: bigint;
  readonly acceptedInMs: number;
  /** The L1 that it converts. */
  readonly subnetID: SubnetID | undefined;
  /** Validators that it adds. */
  readonly added: readonly Pick<L1Validator, 'nodeID' | 'validationID'>[];
}

/**
 * The P-Chain and the chains that it knows, without sockets: the validators of each subnet at each height, and the emitted messages. Clients
 * may issue transactions, also for L1s of their own.
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
  /** Height of the last accepted block. Rises by one with each interval. */
  height(): bigint;
  /** One below the height: a block that is proposed now refers to a height that all nodes have reached. */
  proposedHeight(): bigint;
  /** Unix seconds. */
  timestamp(): bigint;
  /** The epoch of every chain: they all begin together, three blocks long. Its start is in Unix seconds. */
  epoch(): { readonly number: bigint; readonly startTime: bigint; readonly pChainHeight: bigint };
  /** Converted subnets: the L1, then those of clients. */
  conversions(): readonly ConversionData[];
  /** Whether the P-Chain knows the subnet: that of a client from the time at which its conversion is issued. */
  hasSubnet(subnetID: SubnetID): boolean;
  /** The current validators of an L1, inactive ones too; by default of {@link NetworkModel.l1}. */
  l1Validators(subnetID?: SubnetID): readonly L1Validator[];
  /** A current validator of any L1. */
  l1Validator(validationID: ValidationID): L1Validator | undefined;
  /** Whether a RegisterL1Validator message was used before: it can never be used again, not even before its expiry. */
  wasRegistered(validationID: ValidationID): boolean;
  /** 32 bytes, or undefined if the subnet was never converted. */
  conversionID(subnetID: SubnetID): Uint8Array | undefined;
  /**
   * Issues a transaction. Its effects begin with the next block.
   *
   * @throws {TransactionRefused}
   */
  issue(content: TransactionContent): IssuedTransaction;
  /** The next nonce of an L1ValidatorWeight message, after the transactions that were issued. */
  nextNonce(validationID: ValidationID): bigint | undefined;
  /** Empty for an unknown subnet, and for the L1 before its conversion. */
  validatorsAt(subnetID: SubnetID, atHeight: bigint): readonly Validator[];
  /** Undefined for an unknown blockchain. */
  validatedBy(blockchainID: BlockchainID): SubnetID | undefined;
}

export function createNetworkModel(options: NetworkModelOptions): NetworkModel {
  const { seed, clock } = options;
  const { l1, history, events } = createL1(options);
  const { height, timeOf, untilMs } = startBlocks(options);
  const l1Validators = (subnetID = l1.subnetID): readonly L1Validator[] => history.validatorsOf(subnetID, height());
  const chains = createChains(options, l1, l1Validators);
  const { xChainID, cChain, strictChain } = chains;
  const primaryValidators = createPrimaryValidators(seed, options.primaryNodes, options.keyless);
  const ledger = new PChainLedger({ seed, networkID: NETWORK_ID, owner: OWNERS, events, timeOf, ...l1.conversion });
  const timestamp = (): bigint => nowSeconds(clock);
  let issued = 0;

  function epoch() {
    const number = (height() - FIRST_HEIGHT) / BLOCKS_PER_EPOCH;
    const first = FIRST_HEIGHT + number * BLOCKS_PER_EPOCH;
    return { number: number + 1n, startTime: timeOf(first), pChainHeight: first - 1n };
  }

  function validatorsAt(subnetID: SubnetID, atHeight: bigint): readonly Validator[] {
    return subnetID === PRIMARY_NETWORK_ID ? primaryValidators : history.validatorsAt(subnetID, atHeight);
  }

  function validatedBy(blockchainID: BlockchainID): SubnetID | undefined {
    if ([l1.blockchainID, strictChain.blockchainID].includes(blockchainID)) return l1.subnetID;
    const isPrimary = [P_CHAIN_ID, xChainID, cChain.blockchainID].includes(blockchainID);
    return isPrimary ? PRIMARY_NETWORK_ID : undefined;
  }

  function issue(content: TransactionContent): IssuedTransaction {
    if (issued >= MAX_TRANSACTIONS) throw new TransactionRefused(`the devnet takes ${MAX_TRANSACTIONS} transactions`);
    const next = height() + 1n;
    const [networkID, epochHeight] = [NETWORK_ID, epoch().pChainHeight];
    const state = { networkID, history, height: next, timestamp: timestamp(), epochHeight, validatedBy, validatorsAt };
    const change = executeTransaction(state, content);
    issued += 1;
    const before = history.validators(next);
    if (change !== undefined) history.add({ height: next, ...change });
    return {
      content,
      transaction: ledger.add(next, content),
      height: next,
      acceptedInMs: untilMs(next),
      subnetID: content.name === 'ConvertSubnetToL1Tx' ? content.data.subnetID : undefined,
      added: [...history.validators(next).values()].filter(({ validationID }) => !before.has(validationID)),
    };
  }

  return {
    networkID: NETWORK_ID,
    ...chains,
    l1,
    primaryValidators,
    ledger,
    height,
    proposedHeight: () => height() - 1n,
    timestamp,
    epoch,
    issue,
    conversions: () => history.conversions(height()),
    hasSubnet: (subnetID) =>
      subnetID === PRIMARY_NETWORK_ID || history.conversion(subnetID, height() + 1n) !== undefined,
    l1Validators,
    l1Validator: (validationID) => history.validators(height()).get(validationID),
    nextNonce: (validationID) => history.validators(height() + 1n).get(validationID)?.minNonce,
    wasRegistered: (validationID) => history.wasRegistered(validationID, height()),
    conversionID(subnetID) {
      const data = history.conversion(subnetID, height());
      return data && conversionID(data);
    },
    validatorsAt,
    validatedBy,
  };
}

/** Returns the height, the time of the block at a height in Unix seconds, and the time until it in ms. */
function startBlocks({ clock, blockIntervalMs: intervalMs = BLOCK_INTERVAL_MS }: NetworkModelOptions) {
  const startedMs = clock.monotonicMs();
  const startTime = nowSeconds(clock);
  return {
    height: () => FIRST_HEIGHT + BigInt(Math.floor((clock.monotonicMs() - startedMs) / intervalMs)),
    timeOf: (atHeight: bigint) => startTime + ((atHeight - FIRST_HEIGHT) * BigInt(intervalMs)) / 1_000n,
    untilMs: (atHeight: bigint) => startedMs + Number(atHeight - FIRST_HEIGHT) * intervalMs - clock.monotonicMs(),
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
  const history = new L1History();
  for (const event of events) history.add(event);
  return { l1, events, history };
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
  const { validationID: changed, nonce, weight } = weightChange;
  const inactive = conversionValidationID(subnetID, INACTIVE_INDEX);
  const balance = INITIAL_BALANCE;
  const removal = { kind: 'weight change', nonce: 0n, weight: 0n } as const;
  const change = { kind: 'weight change', validationID: changed } as const;
  return [
    { height: HEIGHTS.conversion, kind: 'conversion', data: conversion },
    { height: HEIGHTS.registration, kind: 'registration', message: registration, balance },
    { height: HEIGHTS.overtakenWeightChange, ...change, nonce: nonce - 1n, weight: 200n },
    { height: HEIGHTS.weightChange, ...change, nonce, weight },
    { height: HEIGHTS.balanceIncrease, kind: 'balance increase', validationID: registered, balance },
    { height: HEIGHTS.removal, ...removal, validationID: removed.validationID },
    { height: HEIGHTS.usedUpRegistration, kind: 'registration', message: removedRegistration, balance },
    {
      height: HEIGHTS.registeredRemoval,
      ...removal,
      validationID: registrationValidationID(removedRegistration),
    },
    { height: DEACTIVATION_HEIGHT, kind: 'deactivation', validationID: inactive },
    { height: HEIGHTS.disabling, kind: 'disabling', validationID: inactive },
  ];
}

function withWeight({ nodeID, publicKey }: ModelNode, weight: bigint): ConversionValidator {
  return { nodeID: nodeIDBytes(nodeID), blsPublicKey: publicKey, weight };
}

/** Returns a registration whose funds belong to the owner of this network. */
export function createRegistration(
  subnetID: SubnetID,
  validator: ConversionValidator,
  expiry: bigint,
): RegisterL1Validator {
  return {
    kind: 'RegisterL1Validator',
    subnetID,
    ...validator,
    expiry,
    remainingBalanceOwner: OWNERS,
    disableOwner: OWNERS,
  };
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
