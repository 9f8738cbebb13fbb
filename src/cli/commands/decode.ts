import { type DecodeResult, presentData } from '../../api/messages/message-records.ts';
import { readData } from '../../api/messages/read-data.ts';
import type { FailedReading, ReadingForm } from '../../warp/reading.ts';
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
  const { readings, logMessage, failed } = readData(bytes, options.as);
  if (readings.length === 0) throw usageFailure(describeFailure(failed, options.as));
  const result = presentData(logMessage, readings);
  print(options.json === true ? JSON.stringify(result, undefined, 2) : describe(result));
  return EXIT.done;
}

function describeFailure(failed: readonly FailedReading[], form: ReadingForm | undefined): string {
  if (form !== undefined) return `the data cannot be read as ${wordsOf(form)}: ${failed[0]?.reason}`;
  const reasons = failed.map(({ as, reason }) => `  as ${wordsOf(as)}: ${reason}`);
  return `the data has no known form:\n${reasons.join('\n')}`;
}

/** Lists the likeliest reading first. */
function describe({ readings, logMessage }: DecodeResult): string {
  return readings
    .map(({ as, ...record }, index) => {
      const isOfLog = index === 0 && logMessage !== undefined;
      const title = `${index === 0 ? '' : 'or read as '}${wordsOf(as)}${isOfLog ? ', from the data of a SendWarpMessage log' : ''}`;
      const lines = recordLines(isOfLog ? { ...record, message: logMessage } : record, '  ');
      return [styled('bold', title), ...lines].join('\n');
    })
    .join('\n\n');
}
