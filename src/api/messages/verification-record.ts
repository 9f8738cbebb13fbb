import { type Static, Type } from 'typebox';
import {
  type ReportedProblem,
  type SignedMessageReport,
  VERIFICATION_PROBLEMS,
  type VerificationBasis,
} from '../../aggregation/signers/message-verifier.ts';
import { RULE_MEANINGS, SIGNING_RULES } from '../../aggregation/signers/signing-rule.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { inJson, integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import { loggedMessage } from '../../pchain/codec/logged-message.ts';
import { readPayload } from '../../warp/reading.ts';
import { parseSignedMessage, type SignedMessage } from '../../warp/signed-message.ts';
import { parseUnsignedMessage } from '../../warp/unsigned-message.ts';
import { DELIVERY_FIELDS, presentAdvice } from '../aggregation/delivery-records.ts';
import { MESSAGE, presentMessage } from './message-records.ts';

const RULE_WORDS = SIGNING_RULES.map((rule) => `\`${rule}\`: ${RULE_MEANINGS[rule]}`).join('; ');

const Signer = Type.Object(
  { index: integer(), weight: text(), nodeIds: Type.Array(text()) },
  { title: 'MessageSigner' },
);

export const VerificationResult = Type.Object(
  {
    isValid: Type.Boolean({ description: 'Whether a destination would accept it' }),
    problem: Type.Optional(
      Type.Object(
        { kind: oneOf(VERIFICATION_PROBLEMS), text: text('Explanation') },
        { title: 'VerificationProblem', description: 'The first problem that a destination would find' },
      ),
    ),
    ...MESSAGE,
    signingSubnetId: text('The subnet whose validators must have signed, in cb58'),
    signingRule: oneOf(SIGNING_RULES, `Why this subnet: ${RULE_WORDS}`),
    destinationBlockchainId: optionalText('The blockchain that verifies the message, if it is known'),
    pChainHeight: integer('The P-Chain height whose validators were used'),
    quorumPercentage: integer(),
    signedWeight: text('Weight of the signers'),
    neededWeight: text('Weight that the quorum needs'),
    totalWeight: text('Weight of all validators of the subnet'),
    signers: Type.Array(Signer, {
      description: 'The signers that the message names; they have signed if it is valid',
    }),
    ...DELIVERY_FIELDS,
  },
  { title: 'VerificationResult', description: 'The verdict of a destination on the message' },
);
export type VerificationResult = Static<typeof VerificationResult>;

/** @throws {ParseError} that names the mistake if the message is unsigned */
export function parseOnlySigned(given: Uint8Array, what: string): SignedMessage {
  const logged = loggedMessage(given, what);
  const bytes = logged ?? given;
  const message = attempt(() => parseSignedMessage(bytes));
  if (!(message instanceof ParseError)) return message;
  if (attempt(() => parseUnsignedMessage(bytes)) instanceof ParseError) throw message;
  const found =
    logged === undefined ? 'an unsigned message' : 'the data of a SendWarpMessage log, with an unsigned message';
  throw new ParseError(what, `is not signed: it is ${found}`, { cause: message });
}

/** Presents how the validators were chosen. */
export function presentBasis(basis: VerificationBasis) {
  return inJson({
    signingSubnetId: basis.signingSubnetID,
    pChainHeight: Number(basis.pChainHeight),
    signingRule: basis.rule,
    destinationBlockchainId: basis.destinationChainID,
    ...presentAdvice(basis),
  });
}

/** @param set the subnet and the height of the validators, as far as they are known */
export function presentReport<
  Kind extends ReportedProblem,
  ValidatorSet extends Partial<Pick<VerificationResult, 'signingSubnetId' | 'pChainHeight'>>,
>({ unsignedMessage }: SignedMessage, { problem, ...report }: SignedMessageReport<Kind>, set: ValidatorSet) {
  return {
    isValid: problem === undefined,
    ...(problem && { problem }),
    ...presentMessage(unsignedMessage, readPayload(unsignedMessage.payload)),
    ...set,
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
