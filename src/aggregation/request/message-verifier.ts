import type { BlsVerifier } from '../../bls/service/aggregation.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { quorumWeight } from '../../validators/quorum.ts';
import {
  checkSigners,
  type ExpectedMessage,
  type InvalidReason,
  type NamedSigners,
  namedSigners,
} from '../../validators/verify-signed-message.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import { encodeSignedMessage, type SignedMessage } from '../../warp/signed-message.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { createLookupLimit, type LookupMetrics } from '../admission/lookup-limit.ts';
import { unlessThreadsOverloaded } from '../admission/overloaded.ts';
import type { Penalties } from '../admission/penalties.ts';
import { renameField } from '../aggregator-error.ts';
import { type AggregationRequest, settingsOf } from './aggregation-request.ts';
import { destinationOf } from './complete-request.ts';
import type { Signing, SigningResolver } from './signing-resolver.ts';

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

export type ReportedProblem = Exclude<InvalidReason, 'malformed'>;
/** The service refuses malformed messages and those of another network before. */
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
  readonly bls: BlsVerifier;
  readonly clock: Clock;
  readonly metrics: LookupMetrics;
  readonly penalties: Penalties;
}

/** A verification takes some 3 ms of a BLS thread, so an aggregation waits some 25 ms at most on two threads. */
const MAX_AT_WORK = 16;

export type MessageVerifier = ReturnType<typeof createMessageVerifier>;

/** Verifies signed messages as a destination chain would. */
export function createMessageVerifier(options: MessageVerifierOptions) {
  const { resolver, bls, clock, metrics, penalties } = options;
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
    /** Rejects with an {@link AggregatorError} if the validator set cannot be determined, or too many verifications wait. */
    async verify(
      { message, signingSubnetID, ...given }: VerificationRequest,
      signal: AbortSignal,
      client?: string,
    ): Promise<SignedMessageReport & Pick<Signing, 'signingSubnetID' | 'pChainHeight'>> {
      const settings = settingsOf({ ...given, signingSubnetID });
      using _permit = await running.acquire(client, signal);
      const { unsignedMessage } = message;
      const asked = { ...settings, destination: destinationOf(given), signingSubnetID };
      const request = { ...asked, message: unsignedMessage, justification: new Uint8Array() };
      const resolve = (): Promise<Signing> => resolver.resolve(request, signal);
      const isKnown = resolver.known(request) !== undefined;
      const resolved = isKnown ? resolve() : penalties.lookUp(client, resolve);
      const signing = await renameField(resolved, 'message', 'signedMessage');
      const { quorumNum } = settings;
      const expected = { networkID: unsignedMessage.networkID, warpSet: signing.warpSet, quorumNum };
      const report = reportOn(message, expected, await judge(message, expected, signal));
      return { ...report, signingSubnetID: signing.signingSubnetID, pChainHeight: signing.pChainHeight };
    },
  };
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
