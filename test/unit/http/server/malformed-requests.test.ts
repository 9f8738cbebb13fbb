import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { OWN_ERROR_FORM } from '../../../../src/http/errors/error-form.ts';
import type { RequestLog } from '../../../../src/http/observability/request-log.ts';
import { answerMalformed } from '../../../../src/http/server/malformed-requests.ts';

/** Returns the answer to an error of Node's parser or timers. */
function answerTo(code: string, afterAnswers = (_: Socket, act: () => void) => act()) {
  const lines: unknown[] = [];
  const result = { written: '', lines };
  const socket = {
    writable: true,
    destroyed: false,
    end: (text: string) => (result.written += text),
    destroySoon: () => undefined,
  } as unknown as Socket;
  const log = { malformed: (_: string, ...rest: unknown[]) => lines.push(rest) } as unknown as RequestLog;
  const error = Object.assign(new Error(code), { code });
  answerMalformed(error, socket, { form: OWN_ERROR_FORM, log, headers: { vary: 'origin' }, afterAnswers });
  return result;
}

test.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408, 'request_timeout'],
  ['HPE_HEADER_OVERFLOW', 431, 'headers_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413, 'body_too_large'],
  ['HPE_INVALID_METHOD', 400, 'invalid_request'],
])('%s is answered with %i and %s, and logged', (reason, status, code) => {
  const { written, lines } = answerTo(reason);
  const [head = '', body = ''] = written.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(head).toContain(`\r\nvary: origin\r\n`);
  expect(head).toContain(`\r\ncontent-length: ${body.length}\r\n`);
  expect(JSON.parse(body)).toMatchObject({ statusCode: status, code });
  expect(lines).toEqual([[code, reason]]);
});

test('the answer follows those to earlier requests', () => {
  let act: (() => void) | undefined;
  const result = answerTo('HPE_INVALID_METHOD', (_, then) => {
    act = then;
  });
  expect(result.written).toBe('');
  act?.();
  expect(result.written).toMatch(/^HTTP\/1\.1 400 /);
});
