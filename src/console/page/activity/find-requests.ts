import type { RequestRecord } from '../../../api/requests/request-record.ts';
import { type ConsoleApi, failureOf } from '../console-api.ts';
import { type RequestSearch, searchesOf } from './request-search.ts';

/** Rows of the list. */
const LISTED = 200;

/**
 * Finds the requests that a text names, the newest first; all for an empty one.
 *
 * @param outcome empty for all
 */
export async function findRequests(
  api: ConsoleApi,
  { network, text, outcome }: Record<'network' | 'text' | 'outcome', string>,
  signal: AbortSignal,
): Promise<readonly RequestRecord[]> {
  const filter = { outcome, limit: LISTED };
  if (text.trim() === '') return api.requests(filter, signal);
  const find = async (search: RequestSearch): Promise<readonly RequestRecord[]> => {
    if ('bytes' in search) {
      const messageId = await messageIdOf(api, network, search.bytes, signal);
      return messageId === undefined ? [] : api.requests({ ...filter, messageId }, signal);
    }
    if (!('requestId' in search)) return api.requests({ ...filter, ...search }, signal);
    const found = await requestOf(api, search.requestId, signal);
    return found === undefined || (outcome !== '' && found.outcome !== outcome) ? [] : [found];
  };
  const found = await Promise.all(searchesOf(text).map(find));
  const byKey = new Map(found.flat().map((request) => [keyOf(request), request]));
  return [...byKey.values()].sort((a, b) => b.endedAt - a.endedAt).slice(0, LISTED);
}

/** Undefined for bytes that are no message. */
export async function messageIdOf(
  api: ConsoleApi,
  network: string,
  hex: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const [reading] = (await api.of(network).decode(hex, { signal })).readings;
    return reading !== undefined && 'messageId' in reading ? reading.messageId : undefined;
  } catch (error) {
    if (failureOf(error).code === 'invalid_request') return undefined;
    throw error;
  }
}

async function requestOf(api: ConsoleApi, id: string, signal: AbortSignal): Promise<RequestRecord | undefined> {
  try {
    return await api.request(id, signal);
  } catch (error) {
    if (failureOf(error).code === 'unknown_request') return undefined;
    throw error;
  }
}

/** Distinguishes requests: clients may repeat an ID. */
export function keyOf({ id, endedAt, client }: RequestRecord): string {
  return `${endedAt} ${client} ${id}`;
}
