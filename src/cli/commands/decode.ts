import { type DecodedReading, presentReading } from '../../api/messages/message-records.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { type Reading, type ReadingForm, readAs, readWarpBytes } from '../../warp/reading.ts';
import { EXIT, type ExitCode, usageFailure } from '../io/exit-codes.ts';
import { type InputOptions, readHexInput } from '../io/input.ts';
import { print, recordLines, styled, wordsOf } from '../io/text.ts';

export interface DecodeOptions extends InputOptions {
  readonly as?: ReadingForm;
  readonly json?: boolean;
}

/** Prints the decoded bytes. @throws {CommandFailure} */
export async function decode(given: string | undefined, options: DecodeOptions): Promise<ExitCode> {
  const bytes = await readHexInput('the data', given, options);
  const readings = parseReadings(bytes, options.as).map(presentReading);
  print(options.json === true ? JSON.stringify({ readings }, undefined, 2) : describe(readings));
  return EXIT.done;
}

/** @throws {CommandFailure} if the bytes cannot be decoded in any form, or in the given one */
function parseReadings(bytes: Uint8Array, form: ReadingForm | undefined): readonly Reading[] {
  if (form === undefined) {
    const { readings, failed } = readWarpBytes(bytes);
    if (readings.length > 0) return readings;
    const reasons = failed.map(({ as, reason }) => `  as ${wordsOf(as)}: ${reason}`);
    throw usageFailure(`the data has no known form:\n${reasons.join('\n')}`);
  }
  const reading = attempt(() => readAs(form, bytes));
  if (!(reading instanceof ParseError)) return [reading];
  throw usageFailure(`the data cannot be read as ${wordsOf(form)}: ${reading.message}`);
}

/** Lists the likeliest reading first. */
function describe(readings: readonly DecodedReading[]): string {
  return readings
    .map(({ as, ...record }, index) => {
      const title = `${index === 0 ? '' : 'or read as '}${wordsOf(as)}`;
      return [styled('bold', title), ...recordLines(record, '  ')].join('\n');
    })
    .join('\n\n');
}
