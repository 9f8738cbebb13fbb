import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { clientNetwork } from '../../../../src/http/request/client-identity.ts';
import type { ClientConnection } from '../../../../src/http/server/client-connection.ts';
import { NewConnections } from '../../../../src/http/server/new-connections.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { GET, openServer } from './open-server.ts';

type State = 'closed' | 'held' | 'read';

/** Four connections of each network may wait; there is no network. The turn that reads one takes `costMs`. */
function create({ trustedProxies = [], costMs = 0 }: { trustedProxies?: readonly string[]; costMs?: number } = {}) {
  const turns: (() => void)[] = [];
  const pauses: { readonly ms: number; readonly end: () => void }[] = [];
  let nowMs = 0;
  const clock = {
    monotonicMs: () => nowMs,
    afterTurn: (callback: () => void) => void turns.push(callback),
    after(ms: number, end: () => void) {
      pauses.push({ ms, end });
      return () => undefined;
    },
  };
  const newConnections = new NewConnections({ clock, maxWaiting: 4, trustedProxies });
  const open = (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket;
    let state: State = 'read';
    const connection = {
      socket,
      address: clientNetwork(remoteAddress),
      hold: () => void (state = 'held'),
      release: () => void (state = 'read'),
    } as ClientConnection;
    if (!newConnections.admit(connection)) state = 'closed';
    return { socket, state: () => state };
  };
  return {
    pauses,
    openAll: (address: string, count: number) => Array.from({ length: count }, () => open(address)),
    /** Two turns of the event loop: what a connection sent is read between them. */
    pass() {
      for (const isLast of [false, true]) {
        if (isLast) nowMs += costMs;
        for (const turn of turns.splice(0)) turn();
      }
    },
  };
}

function count(connections: readonly { state(): State }[]): Record<State, number> {
  const counts = { read: 0, held: 0, closed: 0 };
  for (const { state } of connections) counts[state()] += 1;
  return counts;
}

test('new connections are read one after the other, and those of a network beyond its bound are closed', () => {
  const { openAll, pass, pauses } = create();
  const all = openAll('1.1.1.1', 7);
  expect(count(all)).toEqual({ read: 1, held: 4, closed: 2 });
  for (let read = 2; read <= 5; read += 1) {
    pass();
    expect(count(all)).toEqual({ read, held: 5 - read, closed: 2 });
    expect(all[read - 1]?.state()).toBe('read');
  }
  pass();
  expect(count(openAll('1.1.1.1', 1))).toMatchObject({ read: 1 });
  expect(pauses).toEqual([]);
});

test('after one that took long to read, the next waits three times as long', () => {
  const { openAll, pass, pauses } = create({ costMs: 40 });
  const all = openAll('1.1.1.1', 3);
  pass();
  expect([count(all).read, pauses.map(({ ms }) => ms)]).toEqual([1, [120]]);
  // Also one that comes during the pause.
  const [other] = openAll('2.2.2.2', 1);
  pauses[0]?.end();
  expect([count(all).read, other?.state()]).toEqual([2, 'held']);
  pass();
  pauses[1]?.end();
  expect([count(all).read, other?.state()]).toEqual([2, 'read']);
});

test('a pause has a bound', () => {
  const { openAll, pass, pauses } = create({ costMs: 10_000 });
  openAll('1.1.1.1', 1);
  pass();
  expect(pauses.map(({ ms }) => ms)).toEqual([500]);
});

test('networks take turns', () => {
  const { openAll, pass } = create();
  const many = openAll('1.1.1.1', 5);
  const [other] = openAll('2.2.2.2', 1);
  pass();
  pass();
  expect([count(many).read, other?.state()]).toEqual([2, 'read']);
});

test('a connection that closes while it waits takes no place and no turn', () => {
  const { openAll, pass } = create();
  const all = openAll('1.1.1.1', 5);
  for (const { socket } of all.slice(1, 4)) socket.emit('close');
  expect(count(openAll('1.1.1.1', 4))).toEqual({ read: 0, held: 3, closed: 1 });
  pass();
  expect(all[4]?.state()).toBe('read');
});

test('each client network has its own bound: an IPv4 address, or a /64', () => {
  const { openAll } = create();
  openAll('1.1.1.1', 5);
  expect(count(openAll('::ffff:1.1.1.1', 1))).toMatchObject({ closed: 1 });
  expect(count(openAll('1.1.1.2', 1))).toMatchObject({ held: 1 });
  openAll('2001:db8::1', 4);
  expect(count(openAll('2001:db8::2', 1))).toMatchObject({ closed: 1 });
  expect(count(openAll('2001:db8:0:1::1', 1))).toMatchObject({ held: 1 });
});

test.each([
  ['10.1.2.3', '10.0.0.0/8'],
  ['::ffff:10.1.2.3', '10.0.0.0/8'],
  ['10.1.2.3', '10.1.2.3'],
  ['2001:db8::1', '2001:db8::/32'],
  ['::1', '::1'],
])('%s as a trusted proxy (%s) waits for none', (address, block) => {
  const { openAll } = create({ trustedProxies: ['192.0.2.1', block] });
  expect(count(openAll(address, 1_000))).toMatchObject({ read: 1_000 });
  expect(count(openAll('192.0.2.2', 3))).toMatchObject({ held: 2 });
});

test('of a connection that waits, nothing is read', async () => {
  const clock = new FakeClock();
  let nowMs = 0;
  // The first one takes as long as a flood's.
  const slow = Object.assign(Object.create(clock) as FakeClock, {
    monotonicMs: () => (nowMs += 50),
    after: clock.after.bind(clock),
    afterTurn: clock.afterTurn.bind(clock),
  });
  const newConnections = new NewConnections({ clock: slow, maxWaiting: 1, trustedProxies: [] });
  let handled = 0;
  const listener = (_request: unknown, response: { end(): void }): void => {
    handled += 1;
    response.end();
  };
  const { open, brokenOff } = await openServer(listener, { clock, newConnections });
  const [first, second, third] = [await open(), await open(), await open()];
  for (const { client } of [first, second, third]) client.resume().write(GET);
  await expect.poll(() => handled).toBe(1);
  expect([second.served.bytesRead, third.served.destroyed, brokenOff]).toEqual([
    0,
    true,
    ['opens connections too fast'],
  ]);
  await clock.advance(150);
  await expect.poll(() => handled).toBe(2);
  await clock.advance(150);
  const other = await open('127.0.0.2');
  other.client.write(GET);
  await once(other.client, 'data');
});
