import type { BlsVerifier } from '../../bls/service/aggregation.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { quorumWeight } from '../../validators/quorum.ts';
import {
  checkSigners,
  type InvalidReason,
  type NamedSigners,
  namedSigners,
} from '../../validators/verify-signed-message.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import type { SubnetID } from '../../warp/ids.ts';
import { encodeSignedMessage, type SignedMessage } from '../../warp/signed-message.ts';
import { LookupLimit, type LookupMetrics } from '../admission/lookup-limit.ts';
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

export interface SignedMessageReport {
  /** The first problem that a destination would find; undefined if it would accept the message. */
  readonly problem: { readonly kind: VerificationProblem; readonly text: string } | undefined;
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  /** The validators that the bits name; only the signature proves that they signed. */
  readonly signers: readonly WarpValidator[];
  readonly signedWeight: bigint;
  readonly neededWeight: bigint;
  readonly totalWeight: bigint;
  readonly quorumNum: bigint;
}

/** Malformed messages and those of another network are refused before. */
export type VerificationProblem = Exclude<InvalidReason, 'malformed' | 'wrong network'>;
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
  const running = new LookupLimit({ clock, metrics, kind: 'verify', limit: MAX_AT_WORK });
  async function judge(
    { unsignedMessage, signature }: SignedMessage,
    expected: { readonly warpSet: WarpSet; readonly quorumNum: bigint },
    signal: AbortSignal,
  ): Promise<VerificationProblem | undefined> {
    const bytes = encodeSignedMessage({ unsignedMessage, signature });
    const check = checkSigners(bytes, { ...expected, networkID: unsignedMessage.networkID });
    if (check.kind === 'enough weight') {
      const { validators: signers } = check;
      const verdict = await unlessThreadsOverloaded(
        bls.verifySigned({ signers, message: unsignedMessage.bytes, signature: check.signature }, signal),
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
    ): Promise<SignedMessageReport> {
      const settings = settingsOf({ ...given, signingSubnetID });
      using _permit = await running.acquire(client, signal);
      const { unsignedMessage } = message;
      const asked = { ...settings, destination: destinationOf(given), signingSubnetID };
      const request = { ...asked, message: unsignedMessage, justification: new Uint8Array() };
      const resolve = (): Promise<Signing> => resolver.resolve(request, signal);
      const isKnown = resolver.known(request) !== undefined;
      const resolved = isKnown ? resolve() : penalties.lookUp(client, resolve);
      const signing = await renameField(resolved, 'message', 'signedMessage');
      const { warpSet } = signing;
      const { quorumNum } = settings;
      const named = namedSigners(message.signature.signers, warpSet);
      const kind = await judge(message, { warpSet, quorumNum }, signal);
      return {
        problem: kind && { kind, text: describeProblem(kind, named, { warpSet, quorumNum }) },
        signingSubnetID: signing.signingSubnetID,
        pChainHeight: signing.pChainHeight,
        signers: named.validators,
        signedWeight: named.weight,
        neededWeight: quorumWeight(quorumNum, warpSet.totalWeight),
        totalWeight: warpSet.totalWeight,
        quorumNum,
      };
    },
  };
}

const OTHER_SET = 'it was signed by the validators of another height or another subnet, or was changed since';

export function describeProblem(
  kind: VerificationProblem,
  { weight, unknown }: NamedSigners,
  { warpSet, quorumNum }: { readonly warpSet: WarpSet; readonly quorumNum: bigint },
): string {
  const { validators, totalWeight } = warpSet;
  switch (kind) {
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
