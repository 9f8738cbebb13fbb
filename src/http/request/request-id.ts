import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

/** Visible ASCII, because the ID is copied into headers and log lines. */
export const VALID_REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

export function requestIDOf({ headers }: { readonly headers: IncomingHttpHeaders }): string {
  const given = headers[REQUEST_ID_HEADER];
  return typeof given === 'string' && VALID_REQUEST_ID.test(given) ? given : randomUUID();
}
