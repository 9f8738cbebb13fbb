import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '../errors/error-codes.ts';
import type { ErrorForm } from '../errors/error-form.ts';
import type { RequestLog } from '../observability/request-log.ts';
import { JSON_TYPE } from '../request/json-type.ts';
import { REQUEST_ID_HEADER } from '../request/request-id.ts';

const ANSWERS: Readonly<Record<string, readonly [ErrorCode, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'the headers have more than the 16384 bytes allowed'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['body_too_large', 'the chunk extensions of the body are too long'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
};

export interface MalformedRequestOptions {
  readonly log: RequestLog;
  readonly form: ErrorForm;
  readonly headers: Readonly<Record<string, string>>;
  /** Calls `act` when the earlier requests of the connection have their answers. @returns false if the connection closes already */
  readonly afterAnswers: (socket: Socket, act: () => void) => boolean;
}

/**
 * Answers bytes that are no valid HTTP in the service's error form, and ends the connection.
 *
 * @param error of Node's parser or timers; its `rawPacket` is not used, because it may hold keys
 */
export function answerMalformed(
  error: NodeJS.ErrnoException,
  socket: Socket,
  { log, form, headers, afterAnswers }: MalformedRequestOptions,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const [code, message] =
    ANSWERS[error.code ?? ''] ?? (['invalid_request', 'this is not a valid HTTP request'] as const);
  const requestID = randomUUID();
  const statusCode = form.statusOf(code);
  const body = JSON.stringify(form.bodyOf({ code, message }, statusCode));
  const lines = Object.entries({
    ...headers,
    [REQUEST_ID_HEADER]: requestID,
    'content-type': JSON_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  // HTTP/1.1 clients match answers to requests by their order.
  const isAnswered = afterAnswers(socket, () => {
    if (socket.writable) {
      socket.end(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${body}`);
    }
    socket.destroySoon();
  });
  if (isAnswered) log.malformed(requestID, code, error.code ?? error.name);
}
