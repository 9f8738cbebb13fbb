import type { IncomingMessage } from 'node:http';
import { badRequest, type HttpError } from './http-error.ts';

/** What HTTP/1.1 itself forbids in headers, and Node lets pass or would answer without our error form. */
export function findHeaderProblem({ headers, rawHeaders, httpVersion }: IncomingMessage): HttpError | undefined {
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return badRequest('the header Expect may only be 100-continue');
  }
  if (headers.host === undefined) {
    return httpVersion === '1.1' ? badRequest('the header Host is missing') : undefined;
  }
  return countHosts(rawHeaders) > 1 ? badRequest('the header Host must be given once') : undefined;
}

/** Node keeps the first of several, where a proxy may have looked at another. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
