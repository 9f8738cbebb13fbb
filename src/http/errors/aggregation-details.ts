import type { Static } from 'typebox';
import type { AggregationReport } from '../../aggregation/aggregator-error.ts';
import {
  OUTCOME_MEANINGS,
  type OutcomeKind,
  type OutcomeReason,
  VALIDATOR_OUTCOMES,
  type WeightCount,
} from '../../aggregation/validators/validator-outcome.ts';
import { Type } from '../../lib/encoding/schema.ts';

const Weight = Type.String({ description: 'A decimal number, which may exceed 2^53' });
const weightAndCount = { weight: Weight, count: Type.Integer({ description: 'How many validators' }) };
const withReasons = {
  ...weightAndCount,
  reasons: Type.Array(Type.Object({ reason: Type.String(), ...weightAndCount })),
};
const described = (outcome: OutcomeKind) => ({ description: `Validator: ${OUTCOME_MEANINGS[outcome]}` });

/** Texts come from validators: whoever reads them must expect anything in them. */
const VALIDATORS_TEXT = "The validator's own words";

/** What the validators did, as `details` of an error says it. */
export const AggregationDetails = Type.Object(
  {
    weightNeeded: Type.String({ description: 'Weight that the quorum needs' }),
    weightSigned: Type.String({ description: 'Weight of those who signed' }),
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

/** Weights are strings, since they may exceed 2^53. */
export function presentDetails({
  signingSubnetID,
  pChainHeight,
  tally,
}: AggregationReport): Static<typeof AggregationDetails> {
  const { outcomes } = tally;
  const { refused } = outcomes;
  return {
    weightNeeded: String(tally.neededWeight),
    weightSigned: String(tally.signedWeight),
    totalWeight: String(tally.totalWeight),
    signingSubnetId: signingSubnetID,
    pChainHeight: Number(pChainHeight),
    outcomes: {
      signed: present(outcomes.signed),
      refused: {
        ...present(refused),
        reasons: refused.reasons.map((reason) => ({ code: reason.code, text: reason.text, ...present(reason) })),
      },
      timed_out: presentReasons(outcomes.timed_out),
      unreachable: presentReasons(outcomes.unreachable),
      invalid_signature: presentReasons(outcomes.invalid_signature),
      not_asked: presentReasons(outcomes.not_asked),
      no_key: present(outcomes.no_key),
    },
    missing: tally.missing.map(({ nodeID, weight, outcome, code, text, reason }) => ({
      nodeId: nodeID,
      weight: String(weight),
      outcome,
      ...(code !== undefined && { code }),
      ...(text !== undefined && { text }),
      ...(reason !== undefined && { reason }),
    })),
    missingOmitted: tally.missingOmitted,
  };
}

function present({ weight, count }: WeightCount): { weight: string; count: number } {
  return { weight: String(weight), count };
}

function presentReasons(counts: WeightCount & { readonly reasons: readonly OutcomeReason[] }) {
  return {
    ...present(counts),
    reasons: counts.reasons.map((reason) => ({ reason: reason.reason, ...present(reason) })),
  };
}
