import type { TSchema } from 'typebox';
import { DeliveredMessage } from '../../api/feed/delivered-message.ts';
import { RequestRecord } from '../../api/requests/request-record.ts';
import { EXIT, type ExitCode } from '../io/exit-codes.ts';
import { ServiceClient } from '../io/service-client.ts';
import { print, recordLines } from '../io/text.ts';

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

/** Prints what happened to a request for a signature. @throws {CommandFailure} */
export function showRequest(id: string, options: RecordOptions): Promise<ExitCode> {
  return showRecord(options, RequestRecord, async () => `/v1/requests/${encodeURIComponent(id)}`);
}

async function showRecord(
  { url, apiKey, timeout, json }: RecordOptions,
  schema: TSchema,
  pathAt: (client: ServiceClient) => Promise<string>,
): Promise<ExitCode> {
  await using client = new ServiceClient({ url, apiKey, timeoutMs: 1_000 * timeout });
  const record = (await client.get(await pathAt(client), schema)) as object;
  print(json === true ? JSON.stringify(record, undefined, 2) : recordLines(record).join('\n'));
  return EXIT.done;
}
