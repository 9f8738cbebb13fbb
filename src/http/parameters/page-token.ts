import { attempt } from '../../lib/encoding/parse-error.ts';
import { badRequest } from '../errors/http-error.ts';

/** The start of a page in a list. All pages of a list are consistent, whatever has changed since the first. */
export interface PageStart {
  /** Names the list, in terms of the route's other parameters. */
  readonly list: string;
  readonly offset: number;
}

/** Issued tokens have at most 120 characters. */
const MAX_TOKEN_LENGTH = 512;

export function encodePageToken({ list, offset }: PageStart): string {
  return Buffer.from(JSON.stringify([list, offset])).toString('base64url');
}

export function parsePageToken(token: string): PageStart {
  const parsed = token.length > MAX_TOKEN_LENGTH ? undefined : parse(token);
  if (parsed === undefined)
    throw badRequest('pageToken is not a token of this service: give the nextPageToken of an answer');
  return parsed;
}

function parse(token: string): PageStart | undefined {
  const value: unknown = attempt(() => JSON.parse(Buffer.from(token, 'base64url').toString()), SyntaxError);
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [list, offset] = value as unknown[];
  if (typeof list !== 'string' || !Number.isSafeInteger(offset) || (offset as number) < 0) return undefined;
  return { list, offset: offset as number };
}

/** Returns one page of a list, and the token of the next one if there is one. */
export function pageOf<T>(
  items: readonly T[],
  { list, offset }: PageStart,
  pageSize: number,
): { readonly items: readonly T[]; readonly nextPageToken?: string } {
  const end = offset + pageSize;
  const page = items.slice(offset, end);
  return end < items.length ? { items: page, nextPageToken: encodePageToken({ list, offset: end }) } : { items: page };
}
