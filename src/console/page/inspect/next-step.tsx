import type { ComponentChild } from 'preact';
import type { DecodedReading } from '../../../api/messages/message-records.ts';
import { useSession } from '../session.ts';
import { Facts } from '../ui/controls.tsx';
import { unixTime } from '../ui/figures.ts';
import { useAnswer } from '../ui/use-answer.ts';
import { validationOfReading } from './validation-of-reading.ts';

/** Shows what the P-Chain knows of the L1 validation in a message, and what comes next. */
export function NextStep({ reading }: { reading: DecodedReading | undefined }): ComponentChild {
  const { api, network } = useSession();
  const asked = reading && validationOfReading(reading);
  const answer = useAnswer(asked && { network, ...asked }, ({ network: on, validationId, ...given }, signal) =>
    api.of(on).validation(validationId, { ...given, signal }),
  );
  if (answer?.value === undefined) return null;
  const { state, next, registrableUntil } = answer.value;
  return (
    <div class="facts-group">
      <h3>The validation now</h3>
      <Facts
        rows={[
          ['State', state],
          registrableUntil !== null && ['Can be registered until', unixTime(String(registrableUntil))],
          ['Next', next],
        ]}
      />
    </div>
  );
}
