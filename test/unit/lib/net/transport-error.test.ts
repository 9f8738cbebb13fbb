import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect, test } from 'vitest';
import { openHttpPool } from '../../../../src/lib/net/http-port.ts';
import {
  describeTransportError,
  describeWithoutHosts,
  rethrowMisuse,
} from '../../../../src/lib/net/transport-error.ts';
import { createIdentity, identityTlsOptions } from '../../../../src/p2p/identity/identity.ts';

const withCode = (message: string, code: unknown): Error => Object.assign(new Error(message), { code });

test.each<[unknown, string, string]>([
  [
    withCode('connect ECONNREFUSED 10.0.0.7:9650', 'ECONNREFUSED'),
    'connect ECONNREFUSED 10.0.0.7:9650',
    ' (ECONNREFUSED)',
  ],
  [withCode('getaddrinfo ENOTFOUND node.internal', 'ENOTFOUND'), 'getaddrinfo ENOTFOUND node.internal', ' (ENOTFOUND)'],
  [withCode('', 'ETIMEDOUT'), 'ETIMEDOUT', ' (ETIMEDOUT)'],
  [new TypeError(''), 'TypeError', ''],
  [withCode('odd', 'at node.internal:9650'), 'odd', ''],
  [withCode('odd', 7), 'odd', ''],
  ['text', 'text', ''],
])('%s is described to operators in full, and to clients by its code', (cause, full, code) => {
  expect(describeTransportError(cause)).toBe(full);
  expect(describeWithoutHosts(cause)).toBe(`the connection failed${code}`);
});

test('a request that undici cannot send is an error of the program', async () => {
  // A pool of its own for each: after such a request, a pool of undici no longer uses the connection.
  async function failure(headers: Record<string, string>, path = '/'): Promise<unknown> {
    const pool = openHttpPool('http://127.0.0.1:1', { connections: 1 });
    const error: unknown = await pool.request({ method: 'GET', path, headers }).catch((cause: unknown) => cause);
    await pool.destroy();
    return error;
  }
  for (const misuse of [failure({ a: 'b\n' }), failure({}, '/a b'), failure({ expect: '100-continue' })]) {
    const error = await misuse;
    expect(() => rethrowMisuse(error)).toThrow(error as Error);
  }
  const refused = await failure({});
  expect(refused).toMatchObject({ code: 'ECONNREFUSED' });
  expect(() => rethrowMisuse(refused)).not.toThrow();
});

/** Returns the error of a request to a server at an origin of this scheme. */
async function failureOf(server: Server, scheme: string): Promise<unknown> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = openHttpPool(origin, { connections: 1 });
  try {
    return await pool.request({ method: 'GET', path: '/' }).catch((error: unknown) => error);
  } finally {
    await pool.destroy();
    server.close();
  }
}

test('the wrong scheme, and a certificate that is not trusted, are described in words for operators', async () => {
  // As OpenSSL's server does for a record that is none: an alert of TLS.
  const alerting = () => createServer((socket) => socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46])));
  const tls = () => https.createServer(identityTlsOptions(createIdentity()));
  for (const [server, scheme, words] of [
    [http.createServer(), 'https', 'it does not speak TLS; if its port is one of HTTP, write http://'],
    [alerting(), 'http', 'it does not answer in HTTP; if its port is one of HTTPS, write https://'],
    [
      tls(),
      'https',
      'no authority that this machine trusts has signed its certificate; NODE_EXTRA_CA_CERTS names a file with further ones',
    ],
  ] as const) {
    const failure = await failureOf(server, scheme);
    expect(describeTransportError(failure)).toBe(words);
    expect(describeWithoutHosts(failure)).toBe(`the connection failed: ${words}`);
  }
});

test('another failure of TLS keeps the reason of OpenSSL', () => {
  const text = 'write EPROTO 00:error:0A000410:SSL routines:ssl3_read_bytes:ssl/tls alert handshake failure:a.c:1:';
  expect(describeTransportError(withCode(text, 'EPROTO'))).toBe('TLS failed: ssl/tls alert handshake failure');
  expect(describeTransportError(withCode('odd', 'ERR_SSL_ODD'))).toBe('TLS failed');
});
