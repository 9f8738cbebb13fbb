import type { IncomingMessage } from 'node:http';
import { badRequest, HttpError } from '../errors/http-error.ts';

/** Finds what HTTP/1.1 forbids in the head of a request, and Node accepts or would answer without our error form. */
export function findHeaderProblem(request: IncomingMessage): HttpError | undefined {
  const { headers, rawHeaders, httpVersion, method, url } = request;
  // Node reads HTTP/0.9 and 2.0 as if they were 1.1.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return badRequest('the HTTP version must be 1.1 or 1.0');
  if (url === '*' && method !== 'OPTIONS') return badRequest('the target * is for OPTIONS only');
  const { expect, 'content-encoding': coding = 'identity', 'transfer-encoding': transferCoding = 'chunked' } = headers;
  // Node accepts any list that ends with chunked, and decodes only that (RFC 9112, 6.1).
  if (transferCoding.toLowerCase() !== 'chunked') {
    return new HttpError('unsupported_transfer_coding', 'the header transfer-encoding may only be chunked');
  }
  if (method === 'POST' && coding.toLowerCase() !== 'identity') {
    return new HttpError(
      'unsupported_media_type',
      'body must not be compressed: leave the header content-encoding out',
    );
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return badRequest('the header Expect may only be 100-continue');
  }
  if (headers.host === undefined) {
    return httpVersion === '1.1' ? badRequest('the header Host is missing') : undefined;
  }
  return countHosts(rawHeaders) > 1 ? badRequest('the header Host must be given once') : undefined;
}

/** Counts Host headers: Node keeps the first of several, while a proxy may have used another. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
