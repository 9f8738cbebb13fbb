import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

/** Visible ASCII only: it goes into headers and logs as it is. */
const USABLE = /^[\x21-\x7e]{1,128}$/;

/** What a request is called in its answer and in all lines about it: the client's own name for it where that is usable. */
export function requestIDOf({ headers }: { readonly headers: IncomingHttpHeaders }): string {
  const given = headers[REQUEST_ID_HEADER];
  return typeof given === 'string' && USABLE.test(given) ? given : randomUUID();
}
