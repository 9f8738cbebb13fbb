import type { Static } from 'typebox';
import type { AggregationReport } from '../../aggregation/aggregator-error.ts';
import type { WeightCount } from '../../aggregation/collection/tally.ts';
import { Type } from '../../lib/encoding/schema.ts';

const Weight = Type.String({ description: 'A decimal number, which may exceed 2^53' });
const weightAndCount = { weight: Weight, count: Type.Integer({ description: 'How many validators' }) };
const Outcome = Type.Object(weightAndCount);

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
      signed: Outcome,
      refused: Type.Object({
        ...weightAndCount,
        reasons: Type.Array(
          Type.Object({ code: Type.Integer(), text: Type.String({ description: VALIDATORS_TEXT }), ...weightAndCount }),
        ),
      }),
      silent: Type.Object(weightAndCount, { description: 'Gave no answer in time' }),
      ignored: Type.Object(weightAndCount, { description: 'Alive, but drop requests for this blockchain' }),
      unreachable: Type.Object({
        ...weightAndCount,
        reasons: Type.Array(Type.Object({ reason: Type.String(), ...weightAndCount })),
      }),
      not_sent: Type.Object(weightAndCount, { description: 'Connected, with no room for the request in our queues' }),
      invalid_signature: Outcome,
      unanswered: Type.Object(weightAndCount, { description: 'Asked, with no answer yet when the request ended' }),
      not_asked: Outcome,
      without_key: Type.Object(weightAndCount, {
        description: 'In the total weight, but unable to sign: they have no BLS key, or are inactive',
      }),
    }),
    missing: Type.Array(
      Type.Object({
        nodeId: Type.String(),
        weight: Weight,
        outcome: Type.String({ description: 'One of the names under outcomes' }),
        code: Type.Optional(Type.Integer({ description: "The validator's own error code, of one that refused" })),
        text: Type.Optional(Type.String({ description: VALIDATORS_TEXT })),
        reason: Type.Optional(
          Type.String({
            description: 'Why it is unreachable or was not sent the request, or what is wrong with its signature',
          }),
        ),
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
  const { refused, unreachable } = outcomes;
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
      silent: present(outcomes.silent),
      ignored: present(outcomes.ignored),
      unreachable: {
        ...present(unreachable),
        reasons: unreachable.reasons.map((reason) => ({ reason: reason.reason, ...present(reason) })),
      },
      not_sent: present(outcomes.not_sent),
      invalid_signature: present(outcomes.invalid_signature),
      unanswered: present(outcomes.unanswered),
      not_asked: present(outcomes.not_asked),
      without_key: present(outcomes.without_key),
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
