import type { Static } from 'typebox';
import type { AggregationReport } from '../../aggregation/aggregator-error.ts';
import type { WeightCount } from '../../aggregation/collection/tally.ts';
import { Type } from '../../lib/encoding/schema.ts';

const Weight = Type.String({ description: 'A decimal number, which may exceed 2^53' });
const weightAndCount = { weight: Weight, count: Type.Integer({ description: 'How many validators' }) };
const Outcome = Type.Object(weightAndCount);

/** Untrusted text. */
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
      signed: Outcome,
      refused: Type.Object({
        ...weightAndCount,
        reasons: Type.Array(
          Type.Object({ code: Type.Integer(), text: Type.String({ description: VALIDATORS_TEXT }), ...weightAndCount }),
        ),
      }),
      silent: Type.Object(weightAndCount, { description: 'Gave no answer in time' }),
      ignored: Type.Object(weightAndCount, { description: 'Connected, but drop requests for this blockchain' }),
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

/** Makes the `details` of an error. Weights become strings, because they may exceed 2^53. */
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
    missing: tally.missing.map(({ nodeID, ...validator }) => ({ nodeId: nodeID, ...present(validator) })),
    missingOmitted: tally.missingOmitted,
  };
}

type Outcomes = WeightCount & { readonly reasons?: readonly WeightCount[] };

function present<T extends { readonly weight: bigint }>(counted: T): Omit<T, 'weight'> & { readonly weight: string } {
  return { ...counted, weight: String(counted.weight) };
}
