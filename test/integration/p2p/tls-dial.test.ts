import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Connection, ConnectionEvents } from '../../../src/p2p/connection/dial.ts';
import { createTlsDial } from '../../../src/p2p/connection/tls-dial.ts';
import { createIdentity } from '../../../src/p2p/identity/identity.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { TestNode, type TestSession } from './test-node.ts';

const identity = createIdentity();
const dial = createTlsDial(identity);

let cleanup: AsyncDisposableStack;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

/** Records events. */
class Recorder implements ConnectionEvents {
  readonly log: string[] = [];
  certificate: Uint8Array | undefined;
  readonly ended: Promise<void>;
  readonly #end: () => void;
  #next: (() => void) | undefined;

  constructor() {
    ({ promise: this.ended, resolve: this.#end } = Promise.withResolvers<void>());
  }

  onConnect(): void {
    this.#note('connect');
  }
  onSecure(certificate: Uint8Array | undefined): void {
    this.certificate = certificate;
    this.#note('secure');
  }
  onData(chunk: Uint8Array): void {
    this.#note(`data ${Buffer.from(chunk).toString()}`);
  }
  onEnd(reason: string | undefined): void {
    this.#note(`end ${reason}`);
    this.#end();
  }

  async until(entry: string): Promise<void> {
    while (!this.log.includes(entry)) {
      await new Promise<void>((resolve) => {
        this.#next = resolve;
      });
    }
  }

  #note(entry: string): void {
    this.log.push(entry);
    this.#next?.();
  }
}

/** The client is secure before the node has the client certificate. */
async function secure(node: TestNode, events: Recorder): Promise<void> {
  await events.until('secure');
  await node.until(() => node.sessions.size === 1);
}

async function startNode(onSession: (session: TestSession) => void): Promise<TestNode> {
  return cleanup.use(await TestNode.start({ clock: new FakeClock(), onSession }));
}

function open(endpoint: { host: string; port: number }): { events: Recorder; connection: Connection } {
  const events = new Recorder();
  const connection = dial(endpoint, events);
  cleanup.defer(() => connection.close());
  // No event comes before the return.
  expect(events.log).toEqual([]);
  return { events, connection };
}

describe('a TLS connection', () => {
  it('delivers the certificate and the bytes of both sides, and one end', async () => {
    let received = '';
    const node = await startNode((session) => {
      session.socket.on('data', (chunk: Buffer) => {
        received += chunk.toString();
        session.socket.end('bye');
      });
    });
    const { events, connection } = open(node.endpoint);
    await secure(node, events);
    expect(Buffer.from(events.certificate ?? [])).toEqual(Buffer.from(node.identity.certificate.der));
    expect(node.session.certificate.nodeID).toBe(identity.nodeID);
    connection.write(Buffer.from('hello'));
    await events.until('end undefined');
    await node.until(() => node.sessions.size === 0);
    await turn();
    expect(received).toBe('hello');
    expect(events.log).toEqual(['connect', 'secure', 'data bye', 'end undefined']);
  });

  it('reports why it could not be established', async () => {
    const server = createServer(
      (socket) =>
        void socket
          .on('error', () => undefined)
          .resume()
          .write('this is no TLS'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const plain = open({ host: '127.0.0.1', port });
    await plain.events.ended;
    expect(plain.events.log).toEqual(['connect', 'end wrong version number']);
    await new Promise((resolve) => server.close(resolve));
    const refused = open({ host: '127.0.0.1', port });
    await refused.events.until('end connection refused');
    expect(refused.events.log).toEqual(['end connection refused']);
  });

  it('has no event after close', async () => {
    const node = await startNode((session) => session.socket.write('hello'));
    const before = open(node.endpoint);
    before.connection.close();
    const { events, connection } = open(node.endpoint);
    await secure(node, events);
    const seen = [...events.log];
    connection.close();
    node.session.socket.write('too late');
    await node.until(() => node.sessions.size === 0);
    await turn();
    expect(events.log).toEqual(seen);
    expect(before.events.log).toEqual([]);
  });

  it('stops reading while paused, and counts queued bytes', async () => {
    const node = await startNode((session) => session.socket.pause());
    const { events, connection } = open(node.endpoint);
    await secure(node, events);
    connection.pause();
    expect(connection.queuedBytes).toBe(0);
    const large = new Uint8Array(16 * 1024 * 1024);
    connection.write(large);
    await turn();
    expect(connection.queuedBytes).toBeGreaterThan(large.length / 2);
    await new Promise<void>((resolve) => {
      node.session.socket.write('hello', () => resolve());
    });
    await turn();
    expect(events.log).toEqual(['connect', 'secure']);
    connection.resume();
    await events.until('data hello');
  });
});
