import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { loggedMessage } from '../../pchain/codec/logged-message.ts';
import {
  type FailedReading,
  READING_FORMS,
  type Reading,
  type ReadingForm,
  readWarpBytes,
} from '../../warp/reading.ts';
import { parseUnsignedMessage } from '../../warp/unsigned-message.ts';
import { parseOnlySigned } from './verification-record.ts';

export interface ReadData {
  /** The message in the data of a `SendWarpMessage` log: the first reading is of it. */
  readonly logMessage?: Uint8Array | undefined;
  /** The likeliest first. */
  readonly readings: readonly Reading[];
  /** The forms that do not fit. */
  readonly failed: readonly FailedReading[];
}

/**
 * Decodes bytes, and the message in the data of a `SendWarpMessage` log. The bytes of such data are decoded as well, because a Teleporter
 * message alone begins like it.
 *
 * @param only the only form to try
 */
export function readData(bytes: Uint8Array, only?: ReadingForm): ReadData {
  const forms = only === undefined ? READING_FORMS : [only];
  const { readings, failed } = readWarpBytes(bytes, forms);
  const logged = attempt(() => loggedMessage(bytes, 'data'));
  const logMessage = logged instanceof ParseError ? undefined : logged;
  const ofLog = logMessage === undefined ? [] : readWarpBytes(logMessage, forms.filter(isOfMessage)).readings;
  if (ofLog.length > 0) return { logMessage, readings: [...ofLog, ...readings], failed };
  return { readings, failed: failed.map(({ as, reason }) => ({ as, reason: whyNoMessage(as, bytes) ?? reason })) };
}

function isOfMessage(form: ReadingForm): boolean {
  return form === 'signedMessage' || form === 'unsignedMessage';
}

/** Names the data of a log, and an unsigned message that should be a signed one. */
function whyNoMessage(form: ReadingForm, bytes: Uint8Array): string | undefined {
  if (!isOfMessage(form)) return undefined;
  const error = attempt(() => {
    if (form === 'signedMessage') parseOnlySigned(bytes, 'data');
    else parseUnsignedMessage(loggedMessage(bytes, 'data') ?? bytes);
  });
  if (error === undefined) return undefined;
  return error.what === 'data' ? `it ${error.reason}` : error.message;
}
