import type { Epoch } from '../../pchain/rpc/chain-api.ts';
import { DEFAULT_QUORUM_NUM, isQuorumReached } from '../../validators/quorum.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import { type BlockchainID, P_CHAIN_ID, type SubnetID } from '../../warp/ids.ts';
import { describeExpiry, isExpired, msUntilExpiry } from '../../warp/l1-message.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { DestinationFacts } from './destination-facts.ts';
import { registrationOf } from './message-destination.ts';
import { RULE_MEANINGS, type SourceChain, signersFor } from './signing-rule.ts';

/** Codes of warnings, a closed set: programs depend on them. */
export const WARNING_MEANINGS = {
  signers_refused: 'The destination accepts the validators of another subnet only',
  quorum_too_low: "The signed weight is below the destination's quorum",
  warp_disabled: 'The Warp precompile of the destination is not enabled, so it accepts no message',
  config_unreadable: "The destination's warp config could not be read; a quorum of 67 % is assumed",
  epoch_unreadable: "The destination's current epoch could not be read or compared; the message may be refused",
  set_differs_from_epoch: "The validators differ from those at the P-Chain height of the destination's current epoch",
  unknown_destination: 'The destination in the message is not known, so nothing was checked for it',
  registration_expired: 'The registration in the message has expired: the P-Chain refuses it',
  registration_expires: 'The registration in the message expires within an hour: the P-Chain refuses it afterwards',
} as const;

export type WarningCode = keyof typeof WARNING_MEANINGS;
export const WARNING_CODES = Object.keys(WARNING_MEANINGS) as WarningCode[];

export interface DeliveryWarning {
  readonly code: WarningCode;
  readonly message: string;
}

/** What is known about a destination when a message is signed or verified for it. */
export interface DeliveryTarget {
  readonly facts: DestinationFacts;
  readonly epoch: EpochReading;
}

export type EpochReading =
  /** `epoch` is undefined for a chain without epochs. */
  | {
      readonly kind: 'read';
      readonly epoch: Epoch | undefined;
      /** The signing subnet's set at the height of the epoch; undefined if it could not be read. */
      readonly setInEpoch: WarpSet | undefined;
    }
  | { readonly kind: 'unreadable' }
  /** It was not asked for. */
  | { readonly kind: 'not_asked' };

export interface SignedFacts extends SourceChain {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly warpSet: WarpSet;
  readonly signedWeight: bigint;
}

/** Returns why the destination refuses a signed message, or may refuse it. */
export function deliveryWarnings(signed: SignedFacts, { facts, epoch }: DeliveryTarget): readonly DeliveryWarning[] {
  const signers = warnOfSigners(signed, facts);
  // The set of another subnet need not be compared.
  const others = signers === undefined ? [warnOfQuorum(signed, facts), warnOfEpoch(signed, facts, epoch)] : [];
  return [warnOfConfig(facts), signers, ...others].filter((each) => each !== undefined);
}

/** Returns what hinders any delivery to a chain, as far as it is known. */
export function destinationWarnings(facts: DestinationFacts, isEpochReadable: boolean): readonly DeliveryWarning[] {
  const { chainID } = facts;
  const text = `the current epoch of blockchain ${chainID} could not be read: its P-Chain height is not known`;
  const ofEpoch = isEpochReadable ? undefined : warning('epoch_unreadable', text);
  return [warnOfConfig(facts), ofEpoch].filter((each) => each !== undefined);
}

/** Time in which an operator by hand may be too late. */
const SOON_MS = 60 * 60_000;

/** Returns whether the registration in a message of a validator manager has expired, or will soon. @param nowMs Unix time */
export function expiryWarnings(message: UnsignedMessage, nowMs: number): readonly DeliveryWarning[] {
  const registration = registrationOf(message);
  if (registration === undefined) return [];
  const time = describeExpiry(registration);
  if (isExpired(registration, nowMs)) {
    const text = `the registration has expired at ${time}: the P-Chain refuses it; initiate a new one at the validator manager`;
    return [warning('registration_expired', text)];
  }
  if (msUntilExpiry(registration, nowMs) > SOON_MS) return [];
  const text = `the registration expires at ${time}: the P-Chain refuses it from then on`;
  return [warning('registration_expires', text)];
}

export function unknownDestination(chainID: BlockchainID): DeliveryWarning {
  return warning(
    'unknown_destination',
    `the P-Chain knows no blockchain ${chainID}, which the message names as its destination`,
  );
}

function warnOfConfig({ chainID, warp }: DestinationFacts): DeliveryWarning | undefined {
  if (warp.kind === 'unreadable') {
    const text = `the warp config of blockchain ${chainID} cannot be read (${warp.reason}): its quorum is taken to be 67 %`;
    return warning('config_unreadable', text);
  }
  if (warp.config.isEnabled) return undefined;
  return warning('warp_disabled', `the Warp precompile of blockchain ${chainID} is not enabled: it accepts no message`);
}

function warnOfSigners(signed: SignedFacts, facts: DestinationFacts): DeliveryWarning | undefined {
  const { sourceSubnetID, signingSubnetID } = signed;
  const ruled = signersFor(signed, facts);
  const accepted = ruled === undefined ? [sourceSubnetID, facts.subnetID] : [ruled.signingSubnetID];
  if (accepted.includes(signingSubnetID)) return undefined;
  const why = ruled === undefined ? 'its warp config decides which' : RULE_MEANINGS[ruled.rule];
  const text = `blockchain ${facts.chainID} accepts the signatures of subnet ${accepted.join(' or ')} only (${why}), and subnet ${signingSubnetID} signed`;
  return warning('signers_refused', text);
}

function warnOfQuorum(
  { signedWeight, warpSet: { totalWeight } }: SignedFacts,
  { chainID, warp }: DestinationFacts,
): DeliveryWarning | undefined {
  if (warp.kind === 'unreadable' || isQuorumReached(warp.config.quorumNum, signedWeight, totalWeight)) return undefined;
  const { quorumNum } = warp.config;
  const text = `blockchain ${chainID} needs ${quorumNum} % of the weight: ${quorumNum}*${totalWeight} > 100*${signedWeight}`;
  return warning('quorum_too_low', text);
}

function warnOfEpoch(
  { signingSubnetID, pChainHeight, warpSet }: SignedFacts,
  { chainID, warp }: DestinationFacts,
  reading: EpochReading,
): DeliveryWarning | undefined {
  if (reading.kind === 'not_asked') return undefined;
  if (reading.kind === 'unreadable') {
    const text = `the current epoch of blockchain ${chainID} could not be read: it may verify at another P-Chain height than ${pChainHeight}`;
    return warning('epoch_unreadable', text);
  }
  const { epoch, setInEpoch } = reading;
  if (epoch === undefined || epoch.pChainHeight === pChainHeight) return undefined;
  const verifies = `blockchain ${chainID} verifies at P-Chain height ${epoch.pChainHeight} in its current epoch`;
  if (setInEpoch === undefined) {
    return warning('epoch_unreadable', `${verifies}, where the validators of subnet ${signingSubnetID} cannot be read`);
  }
  if (warpSetHash(setInEpoch) === warpSetHash(warpSet)) return undefined;
  const quorumNum = warp.kind === 'read' ? warp.config.quorumNum : DEFAULT_QUORUM_NUM;
  if (setInEpoch.totalWeight === 0n) {
    const text = `${verifies}, where subnet ${signingSubnetID} has no validators: it refuses the message until its next epoch, which ${nextEpochNeeds(chainID)}`;
    return warning('set_differs_from_epoch', text);
  }
  if (!canReachQuorum(setInEpoch, quorumNum)) {
    const text = `${verifies}, where the validators of subnet ${signingSubnetID} that can sign do not reach the quorum: it refuses the message until its next epoch, which ${nextEpochNeeds(chainID)}`;
    return warning('set_differs_from_epoch', text);
  }
  const text = `${verifies}, where the validators of subnet ${signingSubnetID} are not those of height ${pChainHeight}: it may refuse the message until its next epoch`;
  return warning('set_differs_from_epoch', text);
}

/** Whether the validators with a BLS key have enough weight. */
function canReachQuorum({ totalWeight, keyless }: WarpSet, quorumNum: bigint): boolean {
  return isQuorumReached(quorumNum, totalWeight - keyless.weight, totalWeight);
}

/** Returns what ends the set of a plan that is signed for an epoch, as a clause; undefined for one at another height. */
export function whatEndsSet(target: DeliveryTarget | undefined, pChainHeight: bigint): string | undefined {
  if (target?.epoch.kind !== 'read' || target.epoch.epoch?.pChainHeight !== pChainHeight) return undefined;
  const { chainID } = target.facts;
  return `they are those of the current epoch of blockchain ${chainID}, and the next one ${nextEpochNeeds(chainID)}`;
}

/** An idle chain keeps its epoch (ACP-181). */
function nextEpochNeeds(chainID: BlockchainID): string {
  return chainID === P_CHAIN_ID
    ? 'needs two P-Chain blocks, the first of them after the time at which the epoch may end: any P-Chain transaction makes one'
    : 'needs two blocks of that chain, the first of them after the time at which the epoch may end';
}

function warning(code: WarningCode, message: string): DeliveryWarning {
  return { code, message };
}
