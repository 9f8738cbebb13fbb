import { Type } from 'typebox';
import type { DeliveryAdvice } from '../../aggregation/signers/delivery-advice.ts';
import { WARNING_CODES, WARNING_MEANINGS } from '../../aggregation/signers/delivery-warnings.ts';
import { inJson, integer, oneOf, text } from '../../lib/encoding/schema.ts';
import type { Epoch } from '../../pchain/rpc/chain-api.ts';

const EpochRecord = Type.Object(
  {
    number: integer('Counts from 1'),
    pChainHeight: integer('The P-Chain height at which the chain verifies messages'),
    startTime: integer('Unix time in seconds'),
    endTime: Type.Optional(
      integer(
        'Unix time in seconds at which it may end: it ends with the first block after it, so an idle chain keeps it',
      ),
    ),
  },
  { title: 'Epoch', description: "The destination's current epoch (ACP-181); missing for a chain without epochs" },
);

const CODE_WORDS = WARNING_CODES.map((code) => `\`${code}\`: ${WARNING_MEANINGS[code]}`).join('; ');

const WarningRecord = Type.Object(
  { code: oneOf(WARNING_CODES, CODE_WORDS), message: text() },
  { title: 'DeliveryWarning', description: 'Why a destination refuses the message, or may refuse it' },
);
const WarningRecords = Type.Array(WarningRecord, { description: 'Missing if nothing is known against the message' });

/** Fields of an answer about a destination. They are made for each answer, because they change with time. */
export const DELIVERY_FIELDS = { epoch: Type.Optional(EpochRecord), warnings: Type.Optional(WarningRecords) };

export function presentAdvice({ epoch, warnings }: DeliveryAdvice) {
  return inJson({
    epoch: epoch && presentEpoch(epoch),
    warnings: warnings.length === 0 ? undefined : warnings.map(({ code, message }) => ({ code, message })),
  });
}

function presentEpoch({ number, pChainHeight, startTime, endTime }: Epoch) {
  return inJson({
    number: Number(number),
    pChainHeight: Number(pChainHeight),
    startTime: Number(startTime),
    endTime: endTime === undefined ? undefined : Number(endTime),
  });
}
