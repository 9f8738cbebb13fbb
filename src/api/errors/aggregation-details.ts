import { type Static, type TProperties, Type } from 'typebox';
import type { AggregationReport, AggregatorError } from '../../aggregation/aggregator-error.ts';
import {
  OUTCOME_MEANINGS,
  VALIDATOR_OUTCOMES,
  type ValidatorOutcome,
  type WeightCount,
} from '../../aggregation/validators/validator-outcome.ts';
import { Decimal, integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import { presentSentMessages } from './sent-messages.ts';

const counted = { weight: Decimal, count: integer('How many validators') };
const countedBy = <Reason extends TProperties>(title: string, reason: Reason) =>
  Type.Object(
    { ...counted, reasons: Type.Array(Type.Object({ ...reason, ...counted }, { title: `${title}Count` })) },
    { title: `${title}Counts`, description: 'Validators with this outcome, and why' },
  );

/** Why a validator has not signed. */
export const REASON = {
  code: Type.Optional(integer("The validator's own error code, where it refused")),
  text: optionalText("The validator's error text, where it refused"),
  reason: optionalText('The finer cause, where it did not refuse'),
};
const byReason = countedBy('Reason', { reason: text() });
const byRefusal = countedBy('Refusal', { code: integer(), text: text("The validator's error text") });
const MISSING_OUTCOMES = VALIDATOR_OUTCOMES.filter((outcome) => outcome !== 'signed');

/** The `details` of an error: what the validators did. */
export const AggregationDetails = Type.Object(
  {
    weightNeeded: text('Weight that the quorum needs'),
    weightSigned: text('Weight of the validators that signed'),
    totalWeight: text('Weight of all validators of the subnet'),
    signingSubnetId: text('The subnet whose validators were asked, in cb58'),
    pChainHeight: integer('The P-Chain height whose validators were asked'),
    outcomes: Type.Object(
      {
        signed: Type.Object(counted, { title: 'SignedCount', description: 'Validators that signed' }),
        refused: byRefusal,
        timed_out: byReason,
        unreachable: byReason,
        invalid_signature: byReason,
        not_asked: byReason,
        no_key: byReason,
      },
      {
        title: 'OutcomeCounts',
        description: VALIDATOR_OUTCOMES.map((outcome) => `\`${outcome}\`: ${OUTCOME_MEANINGS[outcome]}`).join('; '),
      },
    ),
    missing: Type.Array(
      Type.Object(
        {
          nodeId: text(),
          weight: Decimal,
          outcome: oneOf(MISSING_OUTCOMES, 'One of the names under outcomes'),
          ...REASON,
        },
        { title: 'MissingValidator', description: 'A validator that did not sign' },
      ),
      { description: 'Validators that did not sign, the heaviest first' },
    ),
    missingOmitted: integer('How many more validators did not sign'),
    registrableUntil: Type.Optional(
      integer(
        'With `registration_pending`: the Unix time in seconds until which the P-Chain could accept the registration',
      ),
    ),
  },
  { title: 'AggregationDetails', description: 'Where validators were asked: what they did' },
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
  registrableUntil,
}: AggregationReport): Static<typeof AggregationDetails> {
  const outcomes = Object.entries<Outcomes>(tally.outcomes).map(([name, { reasons, ...outcome }]) => [
    name,
    { ...present(outcome), ...(reasons && { reasons: reasons.map(present) }) },
  ]);
  return {
    weightNeeded: String(tally.neededWeight),
    weightSigned: String(tally.signedWeight),
    totalWeight: String(tally.totalWeight),
    signingSubnetId: signingSubnetID,
    pChainHeight: Number(pChainHeight),
    outcomes: Object.fromEntries(outcomes),
    missing: tally.missing.map(({ nodeID, weight, outcome }) => ({
      nodeId: nodeID,
      weight: String(weight),
      outcome: outcome.kind,
      ...presentWhy(outcome),
    })),
    missingOmitted: tally.missingOmitted,
    ...(registrableUntil !== undefined && { registrableUntil: Number(registrableUntil) }),
  };
}

/** The finer cause of an outcome, as errors and events have it. */
export function presentWhy(outcome: ValidatorOutcome): { code?: number; text?: string; reason?: string } {
  if (outcome.kind === 'signed') return {};
  if (outcome.kind === 'refused') return { code: outcome.code, text: outcome.text };
  return outcome.reason === undefined ? {} : { reason: outcome.reason };
}

type Outcomes = WeightCount & { readonly reasons?: readonly WeightCount[] };

function present<T extends { readonly weight: bigint }>(entry: T): Omit<T, 'weight'> & { readonly weight: string } {
  return { ...entry, weight: String(entry.weight) };
}
