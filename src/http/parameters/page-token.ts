import { badRequest } from '../errors/http-error.ts';

/** Where a page begins, and in which list: pages of one list fit together, whatever has changed since the first. */
export interface PageStart {
  /** Names the list, as the route's other parameters have it. */
  readonly list: string;
  readonly offset: number;
}

/** The longest that is given out has 120 characters. */
const MAX_TOKEN_LENGTH = 512;

export function encodePageToken({ list, offset }: PageStart): string {
  return Buffer.from(JSON.stringify([list, offset])).toString('base64url');
}

/** @throws {HttpError} naming the parameter */
export function parsePageToken(token: string): PageStart {
  const parsed = token.length > MAX_TOKEN_LENGTH ? undefined : parse(token);
  if (parsed === undefined)
    throw badRequest('pageToken is not a token of this service: give the nextPageToken of an answer');
  return parsed;
}

function parse(token: string): PageStart | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [list, offset] = value as unknown[];
  if (typeof list !== 'string' || !Number.isSafeInteger(offset) || (offset as number) < 0) return undefined;
  return { list, offset: offset as number };
}

/** One page of a list, and the token of the next one where there is one. */
export function pageOf<T>(
  items: readonly T[],
  { list, offset }: PageStart,
  pageSize: number,
): { readonly items: readonly T[]; readonly nextPageToken?: string } {
  const end = offset + pageSize;
  const page = items.slice(offset, end);
  return end < items.length ? { items: page, nextPageToken: encodePageToken({ list, offset: end }) } : { items: page };
}
