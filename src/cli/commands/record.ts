import type { Static, TSchema } from 'typebox';
import { DeliveredMessage } from '../../api/feed/delivered-message.ts';
import { RequestRecord } from '../../api/requests/request-record.ts';
import { ValidationBody } from '../../api/subnets/validations.ts';
import { EXIT, type ExitCode } from '../io/exit-codes.ts';
import { ServiceClient } from '../io/service-client.ts';
import { print, printable, recordLines, styled, wordsOf } from '../io/text.ts';

export interface RecordOptions {
  readonly url: string;
  readonly network?: string;
  readonly apiKey?: string;
  readonly timeout: number;
  readonly destination?: string;
  readonly json?: boolean;
}

/** Prints a message of a watched chain. @throws {CommandFailure} */
export function showMessage(id: string, options: RecordOptions): Promise<ExitCode> {
  const { destination, network } = options;
  const query = destination === undefined ? '' : `?${new URLSearchParams({ destinationBlockchainId: destination })}`;
  return showRecord(options, DeliveredMessage, async (client) => {
    const path = await client.networkPath(network, undefined);
    return `${path}/messages/${encodeURIComponent(id)}${query}`;
  });
}

export interface ValidationOptions extends RecordOptions {
  readonly transaction?: string;
  readonly chain?: string;
  readonly logIndex?: string;
  readonly justification?: string;
}

/** Prints what is known of an L1 validation, and what comes next. @throws {CommandFailure} */
export function showValidation(id: string, options: ValidationOptions): Promise<ExitCode> {
  const { network, transaction, chain, logIndex, justification } = options;
  const given = { txHash: transaction, blockchainId: chain, logIndex, justification };
  const query = new URLSearchParams(
    Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const pathAt = async (client: ServiceClient): Promise<string> => {
    const path = await client.networkPath(network, undefined);
    return `${path}/validations/${encodeURIComponent(id)}${query.size === 0 ? '' : `?${query.toString()}`}`;
  };
  return showRecord(options, ValidationBody, pathAt, describeValidation);
}

function describeValidation({ validationId, state, next, reasons, ...facts }: ValidationBody): string[] {
  const known = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null));
  return [
    `validation ${printable(validationId)}: ${styled('bold', state)}`,
    printable(next),
    ...recordLines(known, '  '),
    ...reasons.map(({ field, reason }) =>
      styled('dim', `  ${wordsOf(field)}: not known, because ${printable(reason)}`),
    ),
  ];
}

/** Prints what happened to a request for a signature. @throws {CommandFailure} */
export function showRequest(id: string, options: RecordOptions): Promise<ExitCode> {
  return showRecord(options, RequestRecord, async () => `/v1/requests/${encodeURIComponent(id)}`);
}

async function showRecord<Schema extends TSchema>(
  { url, apiKey, timeout, json }: RecordOptions,
  schema: Schema,
  pathAt: (client: ServiceClient) => Promise<string>,
  linesOf: (record: Static<Schema>) => string[] = (record) => recordLines(record as object),
): Promise<ExitCode> {
  await using client = new ServiceClient({ url, apiKey, timeoutMs: 1_000 * timeout });
  const record = await client.get(await pathAt(client), schema);
  print(json === true ? JSON.stringify(record, undefined, 2) : linesOf(record).join('\n'));
  return EXIT.done;
}
