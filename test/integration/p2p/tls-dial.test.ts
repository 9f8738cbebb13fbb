import { type AddressInfo, createServer, type Server } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { createTlsDial } from '../../../src/p2p/connection/tls-dial.ts';
import { createIdentity, identityTlsOptions } from '../../../src/p2p/identity/identity.ts';
import { nodeIDFromCertificate } from '../../../src/warp/ids.ts';

const identity = createIdentity();
const dial = createTlsDial(identity);

/** Events in their order, with the certificate of the other side. */
function record() {
  const log: string[] = [];
  const recorded = {
    log,
    certificate: undefined as Uint8Array | undefined,
    until: (entry: string) => expect.poll(() => log).toContain(entry),
    onConnect: () => void log.push('connect'),
    onSecure(certificate: Uint8Array | undefined) {
      recorded.certificate = certificate;
      log.push('secure');
    },
    onData: (chunk: Uint8Array) => void log.push(`data ${Buffer.from(chunk).toString()}`),
    onEnd: (reason: string | undefined, cause?: string) => void log.push(`end ${reason}${cause ? ` (${cause})` : ''}`),
  };
  return recorded;
}

async function listen(server: Server): Promise<{ host: string; port: number }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

/** Starts a TLS server for one connection. */
async function startNode(onSession: (socket: TLSSocket) => void) {
  const nodeIdentity = createIdentity();
  const { promise: session, resolve } = Promise.withResolvers<TLSSocket>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const server = createTlsServer({
    ...identityTlsOptions(nodeIdentity),
    requestCert: true,
    rejectUnauthorized: false,
  }).on('secureConnection', (socket) => {
    socket.on('error', () => undefined).on('close', () => close());
    onSession(socket);
    resolve(socket);
  });
  const endpoint = await listen(server);
  onTestFinished(() => void server.close());
  return { endpoint, identity: nodeIdentity, session, closed };
}

function open(endpoint: { host: string; port: number }) {
  const events = record();
  const connection = dial(endpoint, events);
  onTestFinished(() => connection.close());
  // No event comes before the return.
  expect(events.log).toEqual([]);
  return { events, connection };
}

it('a TLS connection delivers the certificate and the bytes of both sides, and one end', async () => {
  let received = '';
  const node = await startNode((socket) => {
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString();
      socket.end('bye');
    });
  });
  const { events, connection } = open(node.endpoint);
  await events.until('secure');
  const session = await node.session;
  expect(Buffer.from(events.certificate ?? [])).toEqual(Buffer.from(node.identity.certificate.der));
  expect(nodeIDFromCertificate(session.getPeerX509Certificate()?.raw ?? Buffer.of())).toBe(identity.nodeID);
  connection.write(Buffer.from('hello'));
  await events.until('end undefined');
  await node.closed;
  await turn();
  expect(received).toBe('hello');
  expect(events.log).toEqual(['connect', 'secure', 'data bye', 'end undefined']);
});

it('a TLS connection reports why it could not be established', async () => {
  const server = createServer(
    (socket) =>
      void socket
        .on('error', () => undefined)
        .resume()
        .write('this is no TLS'),
  );
  const endpoint = await listen(server);
  const plain = open(endpoint);
  await plain.events.until('end wrong version number');
  expect(plain.events.log).toEqual(['connect', 'end wrong version number']);
  await new Promise((resolve) => server.close(resolve));
  const refused = open(endpoint);
  await refused.events.until('end connection refused (tcp_refused)');
  expect(refused.events.log).toEqual(['end connection refused (tcp_refused)']);
});

it('a TLS connection has no event after close', async () => {
  const node = await startNode((socket) => socket.write('hello'));
  const before = open(node.endpoint);
  before.connection.close();
  const { events, connection } = open(node.endpoint);
  await events.until('secure');
  const session = await node.session;
  const seen = [...events.log];
  connection.close();
  session.write('too late');
  await node.closed;
  await turn();
  expect(events.log).toEqual(seen);
  expect(before.events.log).toEqual([]);
});

it('a TLS connection stops reading while paused, and counts queued bytes', async () => {
  const node = await startNode((socket) => socket.pause());
  const { events, connection } = open(node.endpoint);
  await events.until('secure');
  const session = await node.session;
  connection.pause();
  expect(connection.queuedBytes).toBe(0);
  const large = new Uint8Array(16 * 1024 * 1024);
  connection.write(large);
  await turn();
  expect(connection.queuedBytes).toBeGreaterThan(large.length / 2);
  await new Promise<void>((resolve) => {
    session.write('hello', () => resolve());
  });
  await turn();
  expect(events.log).toEqual(['connect', 'secure']);
  connection.resume();
  await events.until('data hello');
});
