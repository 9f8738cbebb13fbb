import { type DecodedReading, presentReading } from '../../api/messages/message-records.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type Reading, type ReadingForm, readAs, readWarpBytes } from '../../warp/reading.ts';
import { EXIT, type ExitCode, usageFailure } from '../exit-codes.ts';
import { type InputOptions, readHexInput } from '../io/input.ts';
import { recordLines } from '../io/record-text.ts';
import { styled, wordsOf } from '../io/text.ts';

export interface DecodeOptions extends InputOptions {
  readonly as?: ReadingForm;
  readonly json?: boolean;
}

/** Prints what bytes say. @throws {CommandFailure} */
export async function decode(given: string | undefined, options: DecodeOptions): Promise<ExitCode> {
  const bytes = await readHexInput('what is to be read', given, options);
  process.stdout.write(`${readingText(bytes, options)}\n`);
  return EXIT.done;
}

/** @throws {CommandFailure} */
export function readingText(bytes: Uint8Array, { as, json }: Pick<DecodeOptions, 'as' | 'json'>): string {
  const readings = parseReadings(bytes, as).map(presentReading);
  return json === true ? JSON.stringify({ readings }, undefined, 2) : describe(readings);
}

/** @throws {CommandFailure} where the bytes can be read as nothing, or not in the form that was asked for */
function parseReadings(bytes: Uint8Array, form: ReadingForm | undefined): readonly Reading[] {
  if (form === undefined) {
    const { readings, failed } = readWarpBytes(bytes);
    if (readings.length > 0) return readings;
    const reasons = failed.map(({ as, reason }) => `  as ${wordsOf(as)}: ${reason}`);
    throw usageFailure(`it can be read as nothing that is known here:\n${reasons.join('\n')}`);
  }
  try {
    return [readAs(form, bytes)];
  } catch (error) {
    if (error instanceof ParseError) throw usageFailure(`it cannot be read as ${wordsOf(form)}: ${error.message}`);
    throw error;
  }
}

/** The likeliest reading first; the others are named as such. */
function describe(readings: readonly DecodedReading[]): string {
  return readings
    .map(({ as, ...record }, index) => {
      const title = `${index === 0 ? '' : 'or read as '}${wordsOf(as)}`;
      return [styled('bold', title), ...recordLines(record, '  ')].join('\n');
    })
    .join('\n\n');
}
