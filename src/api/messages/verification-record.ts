import type { Static } from 'typebox';
import { type SignedMessageReport, VERIFICATION_PROBLEMS } from '../../aggregation/request/message-verifier.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { Type } from '../../lib/encoding/schema.ts';
import { readPayload } from '../../warp/reading.ts';
import { parseSignedMessage, type SignedMessage } from '../../warp/signed-message.ts';
import { parseUnsignedMessage } from '../../warp/unsigned-message.ts';
import { DecodedPayload, presentMessage } from './message-records.ts';

export const VerificationResult = Type.Object(
  {
    isValid: Type.Boolean({ description: 'Whether a destination would accept it' }),
    problem: Type.Optional(
      Type.Object(
        {
          kind: Type.Enum([...VERIFICATION_PROBLEMS], { type: 'string' }),
          text: Type.String({ description: 'In words' }),
        },
        { description: 'What a destination would find first' },
      ),
    ),
    messageId: Type.String(),
    networkId: Type.Integer(),
    network: Type.Optional(Type.String()),
    sourceBlockchainId: Type.String(),
    sourceChain: Type.Optional(Type.String()),
    payload: DecodedPayload,
    signingSubnetId: Type.String(),
    pChainHeight: Type.Integer({ description: 'The P-Chain height whose validators were taken' }),
    quorumPercentage: Type.Integer(),
    signedWeight: Type.String({ description: 'Weight of the signers' }),
    neededWeight: Type.String({ description: 'Weight that the quorum needs' }),
    totalWeight: Type.String({ description: 'Weight of all validators of the subnet' }),
    signers: Type.Array(
      Type.Object({ index: Type.Integer(), weight: Type.String(), nodeIds: Type.Array(Type.String()) }),
      { description: 'Whom the message names; that they signed is shown by its being valid' },
    ),
  },
  { description: 'What a destination would say of the message' },
);
export type VerificationResult = Static<typeof VerificationResult>;

/** @throws {ParseError} which says so where the bytes are an unsigned message: clients mix the two up */
export function parseOnlySigned(bytes: Uint8Array, what: string): SignedMessage {
  const message = attempt(() => parseSignedMessage(bytes));
  if (!(message instanceof ParseError)) return message;
  if (attempt(() => parseUnsignedMessage(bytes)) instanceof ParseError) throw message;
  throw new ParseError(what, 'is not signed: it is an unsigned message', { cause: message });
}

export function presentReport({ unsignedMessage }: SignedMessage, report: SignedMessageReport): VerificationResult {
  const { problem } = report;
  return {
    isValid: problem === undefined,
    ...(problem && { problem: { kind: problem.kind, text: problem.text } }),
    ...presentMessage(unsignedMessage, readPayload(unsignedMessage.payload)),
    signingSubnetId: report.signingSubnetID,
    pChainHeight: Number(report.pChainHeight),
    ...presentSigners(report),
  };
}

/** Who signed, or is named, and what that weighs. */
export function presentSigners(
  report: Pick<SignedMessageReport, 'quorumNum' | 'signedWeight' | 'neededWeight' | 'totalWeight' | 'signers'>,
) {
  return {
    quorumPercentage: Number(report.quorumNum),
    signedWeight: String(report.signedWeight),
    neededWeight: String(report.neededWeight),
    totalWeight: String(report.totalWeight),
    signers: report.signers.map(({ index, weight, nodeIDs }) => ({
      index,
      weight: String(weight),
      nodeIds: [...nodeIDs],
    })),
  };
}
