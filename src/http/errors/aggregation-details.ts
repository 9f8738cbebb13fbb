import type { Static } from 'typebox';
import type { AggregationReport, AggregatorError } from '../../aggregation/aggregator-error.ts';
import {
  OUTCOME_MEANINGS,
  type OutcomeKind,
  VALIDATOR_OUTCOMES,
  type WeightCount,
} from '../../aggregation/validators/validator-outcome.ts';
import { Type } from '../../lib/encoding/schema.ts';
import { presentSentMessages } from './sent-messages.ts';

const Weight = Type.String({ description: 'A decimal number, which may exceed 2^53' });
const weightAndCount = { weight: Weight, count: Type.Integer({ description: 'How many validators' }) };
const withReasons = {
  ...weightAndCount,
  reasons: Type.Array(Type.Object({ reason: Type.String(), ...weightAndCount })),
};
const described = (outcome: OutcomeKind) => ({ description: `Validator: ${OUTCOME_MEANINGS[outcome]}` });

const VALIDATORS_TEXT = "The validator's error text";

/** The `details` of an error: what the validators did. */
export const AggregationDetails = Type.Object(
  {
    weightNeeded: Type.String({ description: 'Weight that the quorum needs' }),
    weightSigned: Type.String({ description: 'Weight of the validators that signed' }),
    totalWeight: Type.String({ description: 'Weight of all validators of the subnet' }),
    signingSubnetId: Type.String({ description: 'The subnet whose validators were asked, in cb58' }),
    pChainHeight: Type.Integer({ description: 'The P-Chain height whose validators were asked' }),
    outcomes: Type.Object({
      signed: Type.Object(weightAndCount, described('signed')),
      refused: Type.Object(
        {
          ...weightAndCount,
          reasons: Type.Array(
            Type.Object({
              ...{ code: Type.Integer(), text: Type.String({ description: VALIDATORS_TEXT }), ...weightAndCount },
            }),
          ),
        },
        described('refused'),
      ),
      timed_out: Type.Object(withReasons, described('timed_out')),
      unreachable: Type.Object(withReasons, described('unreachable')),
      invalid_signature: Type.Object(withReasons, described('invalid_signature')),
      not_asked: Type.Object(withReasons, described('not_asked')),
      no_key: Type.Object(weightAndCount, described('no_key')),
    }),
    missing: Type.Array(
      Type.Object({
        nodeId: Type.String(),
        weight: Weight,
        outcome: Type.Enum(
          VALIDATOR_OUTCOMES.filter((outcome) => outcome !== 'signed' && outcome !== 'no_key'),
          { type: 'string', description: 'One of the names under outcomes' },
        ),
        code: Type.Optional(Type.Integer({ description: "The validator's own error code, of one that refused" })),
        text: Type.Optional(Type.String({ description: VALIDATORS_TEXT })),
        reason: Type.Optional(Type.String({ description: 'The finer cause, where it did not refuse' })),
      }),
      { description: 'Validators that did not sign, the heaviest first' },
    ),
    missingOmitted: Type.Integer({ description: 'How many more validators did not sign' }),
  },
  { description: 'Where validators were asked: what they did' },
);

/** Makes the `details` of an error; undefined if it has none. */
export function detailsOf({ report, sentMessages }: AggregatorError): unknown {
  if (report !== undefined) return presentDetails(report);
  return sentMessages && presentSentMessages(sentMessages);
}

/** Presents what the validators did. Weights become strings, because they may exceed 2^53. */
export function presentDetails({
  signingSubnetID,
  pChainHeight,
  tally,
}: AggregationReport): Static<typeof AggregationDetails> {
  const outcomes = Object.entries<Outcomes>(tally.outcomes).map(([name, { reasons, ...counted }]) => [
    name,
    { ...present(counted), ...(reasons && { reasons: reasons.map(present) }) },
  ]);
  return {
    weightNeeded: String(tally.neededWeight),
    weightSigned: String(tally.signedWeight),
    totalWeight: String(tally.totalWeight),
    signingSubnetId: signingSubnetID,
    pChainHeight: Number(pChainHeight),
    outcomes: Object.fromEntries(outcomes),
    missing: tally.missing.map(({ nodeID, reason, ...validator }) => ({
      nodeId: nodeID,
      ...present(validator),
      ...(reason !== undefined && { reason }),
    })),
    missingOmitted: tally.missingOmitted,
  };
}

type Outcomes = WeightCount & { readonly reasons?: readonly WeightCount[] };

function present<T extends { readonly weight: bigint }>(counted: T): Omit<T, 'weight'> & { readonly weight: string } {
  return { ...counted, weight: String(counted.weight) };
}
