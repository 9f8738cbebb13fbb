import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { clientNetwork } from '../../../../src/http/request/client-identity.ts';
import type { ClientConnection } from '../../../../src/http/server/client-connection.ts';
import { NewConnections } from '../../../../src/http/server/new-connections.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { GET, openServer } from './open-server.ts';

type State = 'closed' | 'held' | 'read';

/** Two new connections a second of each network, without a network. */
function create(trustedProxies: readonly string[] = []) {
  const clock = new FakeClock();
  const newConnections = new NewConnections({ clock, perSecond: 2, trustedProxies });
  const open = (remoteAddress: string) => {
    const socket = { remoteAddress, destroyed: false } as Socket;
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
    clock,
    openAll: (address: string, count: number) => Array.from({ length: count }, () => open(address)),
  };
}

function count(connections: readonly { state(): State }[]): Record<State, number> {
  const counts = { read: 0, held: 0, closed: 0 };
  for (const { state } of connections) counts[state()] += 1;
  return counts;
}

test('six are read at once, then one after the other, and those beyond five seconds are closed', async () => {
  const { clock, openAll } = create();
  const all = openAll('1.1.1.1', 18);
  expect(count(all)).toEqual({ read: 6, held: 10, closed: 2 });
  for (let read = 7; read <= 16; read += 1) {
    await clock.advance(500);
    expect(count(all)).toEqual({ read, held: 16 - read, closed: 2 });
    expect(all[read - 1]?.state()).toBe('read');
  }
  expect(clock.pendingTimers).toBe(0);
});

test('what is read later comes after what waits, and time refills the burst', async () => {
  const { clock, openAll } = create();
  openAll('1.1.1.1', 6);
  await clock.advance(400);
  expect(count(openAll('1.1.1.1', 1))).toMatchObject({ held: 1 });
  // The burst has one again, for which the first one waits.
  await clock.advance(200);
  expect(count(openAll('1.1.1.1', 1))).toMatchObject({ held: 1 });
  await clock.advance(4_500);
  expect(count(openAll('1.1.1.1', 8))).toEqual({ read: 6, held: 2, closed: 0 });
});

test('connections that close while they wait take no time', async () => {
  const { clock, openAll } = create();
  const waiting = openAll('1.1.1.1', 10).slice(6);
  for (const { socket } of waiting.slice(0, 3)) Object.assign(socket, { destroyed: true });
  await clock.advance(500);
  expect([waiting[3]?.state(), clock.pendingTimers]).toEqual(['read', 0]);
});

test('each client network has its own limit: an IPv4 address, or a /64', () => {
  const { openAll } = create();
  openAll('1.1.1.1', 6);
  expect(count(openAll('1.1.1.2', 6))).toMatchObject({ read: 6 });
  expect(count(openAll('::ffff:1.1.1.1', 1))).toMatchObject({ held: 1 });
  openAll('2001:db8::1', 6);
  expect(count(openAll('2001:db8::2', 1))).toMatchObject({ held: 1 });
  expect(count(openAll('2001:db8:0:1::1', 1))).toMatchObject({ read: 1 });
});

test.each([
  ['10.1.2.3', '10.0.0.0/8'],
  ['::ffff:10.1.2.3', '10.0.0.0/8'],
  ['10.1.2.3', '10.1.2.3'],
  ['2001:db8::1', '2001:db8::/32'],
  ['::1', '::1'],
])('%s as a trusted proxy (%s) has no limit', (address, block) => {
  const { openAll } = create(['192.0.2.1', block]);
  expect(count(openAll(address, 1_000))).toMatchObject({ read: 1_000 });
  expect(count(openAll('192.0.2.2', 7))).toMatchObject({ held: 1 });
});

test('of a connection that waits, nothing is read', async () => {
  const clock = new FakeClock();
  const newConnections = new NewConnections({ clock, perSecond: 1, trustedProxies: [] });
  let handled = 0;
  const { open, brokenOff } = await openServer(
    (_request, response) => {
      handled += 1;
      response.end();
    },
    { clock, newConnections },
  );
  const opened = [];
  for (let index = 0; index < 12; index += 1) opened.push(await open());
  for (const { client } of opened) client.resume().write(GET);
  await expect.poll(() => handled).toBe(6);
  expect(opened.slice(6).map(({ served }) => served.bytesRead)).toEqual(Array(6).fill(0));
  expect(opened.map(({ served }) => served.destroyed)).toEqual([...Array<boolean>(11).fill(false), true]);
  expect(brokenOff).toEqual(['opens connections too fast']);
  await clock.advance(1_000);
  await expect.poll(() => handled).toBe(7);
  const other = await open('127.0.0.2');
  other.client.write(GET);
  await once(other.client, 'data');
});
