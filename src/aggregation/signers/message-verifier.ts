import type { BlsVerifier } from '../../bls/service/bls-service.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Epoch } from '../../pchain/rpc/chain-api.ts';
import { quorumWeight } from '../../validators/quorum.ts';
import {
  checkSigners,
  type ExpectedMessage,
  type InvalidReason,
  type NamedSigners,
  namedSigners,
} from '../../validators/verify-signed-message.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { encodeSignedMessage, type SignedMessage } from '../../warp/signed-message.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { createLookupLimit, type LookupMetrics } from '../admission/lookup-limit.ts';
import { unlessThreadsOverloaded } from '../admission/overloaded.ts';
import type { Penalties } from '../admission/penalties.ts';
import { renameField } from '../aggregator-error.ts';
import { type AggregationRequest, settingsOf } from '../request/aggregation-request.ts';
import type { L1Messages } from '../transactions/l1-messages.ts';
import { type DeliveryWarning, deliveryWarnings, expiryWarnings, unknownDestination } from './delivery-warnings.ts';
import { teleporterDestination } from './message-destination.ts';
import type { SigningPlan } from './signing-plan.ts';
import { type Destination, destinationOf } from './signing-question.ts';
import type { SigningResolver } from './signing-resolver.ts';
import type { SigningRule } from './signing-rule.ts';

export interface VerificationRequest
  extends Pick<AggregationRequest, 'signingSubnetID' | 'quorumNum' | 'pChainHeight' | 'destinationChainID'> {
  readonly message: SignedMessage;
}

export interface SignedMessageReport<Kind extends ReportedProblem = VerificationProblem> {
  /** The first problem that a destination would find; undefined if it would accept the message. */
  readonly problem: { readonly kind: Kind; readonly text: string } | undefined;
  /** The validators that the bits name; only the signature proves that they signed. */
  readonly signers: readonly WarpValidator[];
  readonly signedWeight: bigint;
  readonly neededWeight: bigint;
  readonly totalWeight: bigint;
  readonly quorumNum: bigint;
}

/** How the validators were chosen, and what a destination may find besides. */
export interface VerificationBasis extends Pick<SigningPlan, 'signingSubnetID' | 'pChainHeight'> {
  readonly rule: SigningRule;
  readonly destinationChainID: BlockchainID | undefined;
  readonly epoch: Epoch | undefined;
  readonly warnings: readonly DeliveryWarning[];
}

export type ReportedProblem = Exclude<InvalidReason, 'malformed'>;
/** Malformed messages and those of another network are refused earlier. */
export type VerificationProblem = Exclude<ReportedProblem, 'wrong network'>;
export const VERIFICATION_PROBLEMS = [
  'no signers',
  'unknown signer',
  'insufficient weight',
  'malformed signature',
  'wrong signature',
] as const satisfies readonly VerificationProblem[];

export interface MessageVerifierOptions {
  readonly resolver: Pick<SigningResolver, 'known' | 'resolve'>;
  readonly l1Messages: Pick<L1Messages, 'addresseeOf'>;
  readonly bls: BlsVerifier;
  readonly clock: Clock;
  readonly metrics: LookupMetrics;
  readonly penalties: Penalties;
}

/** A verification takes some 3 ms of a BLS thread, so an aggregation waits some 25 ms at most on two threads. */
const MAX_AT_WORK = 16;

/** Judges signed messages. */
export interface MessageVerifier {
  /** Rejects with an {@link AggregatorError} if the validator set cannot be determined, or too many verifications wait. */
  verify(
    request: VerificationRequest,
    signal: AbortSignal,
    client?: string,
  ): Promise<SignedMessageReport & VerificationBasis>;
}

/** Verifies signed messages as a destination chain would. */
export function createMessageVerifier(options: MessageVerifierOptions): MessageVerifier {
  const { resolver, l1Messages, bls, clock, metrics, penalties } = options;
  const running = createLookupLimit({ clock, metrics, kind: 'verify', limit: MAX_AT_WORK });
  async function judge(
    message: SignedMessage,
    expected: ExpectedMessage,
    signal: AbortSignal,
  ): Promise<VerificationProblem | undefined> {
    const check = checkSigners(encodeSignedMessage(message), expected);
    if (check.kind === 'enough weight') {
      const { validators: signers } = check;
      const verdict = await unlessThreadsOverloaded(
        bls.verifySigned({ signers, message: check.unsignedMessage.bytes, signature: check.signature }, signal),
      );
      return verdict === 'valid' ? undefined : verdict;
    }
    // Both were checked before.
    if (check.reason === 'malformed' || check.reason === 'wrong network') throw new Error(`refused as ${check.reason}`);
    return check.reason;
  }

  return {
    async verify(
      { message, ...given }: VerificationRequest,
      signal: AbortSignal,
      client?: string,
    ): Promise<SignedMessageReport & VerificationBasis> {
      const settings = settingsOf(given);
      using _permit = await running.acquire(client, signal);
      const { unsignedMessage } = message;
      const { signingSubnetID } = given;
      const asked = { ...settings, signingSubnetID, message: unsignedMessage, justification: NONE };
      const resolve = async (): Promise<SigningPlan> => {
        const destination = await findDestination(unsignedMessage, given, l1Messages, signal);
        return await resolver.resolve({ ...asked, destination }, signal);
      };
      const isKnown =
        destinationOf({ ...given, ...AS_VERIFIED }, unsignedMessage) === undefined &&
        resolver.known({ ...asked, destination: undefined }) !== undefined;
      const resolved = isKnown ? resolve() : penalties.lookUp(client, resolve);
      const plan = await renameField(resolved, 'message', 'signedMessage');
      const { quorumNum, warpSet } = plan;
      const expected = { networkID: unsignedMessage.networkID, warpSet, quorumNum };
      const report = reportOn(message, expected, await judge(message, expected, signal));
      return { ...report, ...basisOf(plan, report.signedWeight, clock.now()) };
    },
  };
}

const NONE = new Uint8Array();

/** A message names the chain that verifies it. */
const AS_VERIFIED = { followsTeleporter: true, pChainMessages: 'epoch' } as const;

/**
 * Returns the chain that verifies a message: the one that the request names, else the one that the message names, unless the request
 * names signers, quorum or height.
 */
export async function findDestination(
  message: UnsignedMessage,
  given: Omit<AggregationRequest, 'subject'>,
  l1Messages: Pick<L1Messages, 'addresseeOf'>,
  signal: AbortSignal,
): Promise<Destination | undefined> {
  const found = destinationOf({ ...given, ...AS_VERIFIED }, message);
  if (found !== undefined || given.signingSubnetID !== undefined || teleporterDestination(message) !== undefined) {
    return found;
  }
  const chainID = await l1Messages.addresseeOf(message, signal);
  return chainID && { chainID, isRequired: false };
}

/** Describes how the validators of a verification were chosen. @param nowMs Unix time */
export function basisOf(plan: SigningPlan, signedWeight: bigint, nowMs: number): VerificationBasis {
  const { rule, signingSubnetID, pChainHeight, target } = plan;
  const { destination } = plan.question;
  const ofExpiry = expiryWarnings(plan.message, nowMs);
  const basis = { rule, signingSubnetID, pChainHeight, destinationChainID: destination?.chainID };
  if (target === undefined) {
    const unknown = destination === undefined ? [] : [unknownDestination(destination.chainID)];
    return { ...basis, epoch: undefined, warnings: [...unknown, ...ofExpiry] };
  }
  const signed = { ...plan, sourceChainID: plan.message.sourceChainID, signedWeight };
  const warnings = [...deliveryWarnings(signed, target), ...ofExpiry];
  return { ...basis, epoch: target.epoch.kind === 'read' ? target.epoch.epoch : undefined, warnings };
}

/** @param kind the first problem that was found; undefined if a destination would accept the message */
export function reportOn<Kind extends ReportedProblem>(
  { unsignedMessage, signature }: SignedMessage,
  expected: ExpectedMessage,
  kind: Kind | undefined,
): SignedMessageReport<Kind> {
  const { warpSet, quorumNum } = expected;
  const named = namedSigners(signature.signers, warpSet);
  return {
    problem: kind && { kind, text: describeProblem(kind, unsignedMessage, named, expected) },
    signers: named.validators,
    signedWeight: named.weight,
    neededWeight: quorumWeight(quorumNum, warpSet.totalWeight),
    totalWeight: warpSet.totalWeight,
    quorumNum,
  };
}

const OTHER_SET = 'it was signed by the validators of another height or another subnet, or was changed since';

function describeProblem(
  kind: ReportedProblem,
  unsignedMessage: UnsignedMessage,
  { weight, unknown }: NamedSigners,
  { networkID, warpSet, quorumNum }: ExpectedMessage,
): string {
  const { validators, totalWeight } = warpSet;
  switch (kind) {
    case 'wrong network':
      return `its network ID is ${unsignedMessage.networkID}, and that of the network is ${networkID}`;
    case 'no signers':
      return 'it names no signers';
    case 'unknown signer':
      return `it names signer ${unknown[0]}, and the set has validators 0 to ${validators.length - 1} only: ${OTHER_SET}`;
    case 'insufficient weight':
      return `signature weight is insufficient: ${quorumNum}*${totalWeight} > 100*${weight}`;
    case 'malformed signature':
      return 'its signature, or the key of a signer, is not a point of the curve';
    case 'wrong signature':
      return `its signature is not that of these signers: ${OTHER_SET}`;
  }
}
