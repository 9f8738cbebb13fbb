import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { clientNetwork } from '../../../../src/http/request/client-identity.ts';
import type { ClientConnection } from '../../../../src/http/server/client-connection.ts';
import { NewConnections } from '../../../../src/http/server/new-connections.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { GET, openServer } from './open-server.ts';

type State = 'closed' | 'held' | 'read';

/** Four new connections a second of each network, without a network. */
function create(trustedProxies: readonly string[] = []) {
  const clock = new FakeClock();
  const newConnections = new NewConnections({ clock, perSecond: 4, trustedProxies });
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

test('a second of them is read in turns of the event loop, the next ones by the rate, and those beyond five seconds are closed', async () => {
  const { clock, openAll } = create();
  const all = openAll('1.1.1.1', 26);
  expect(count(all)).toEqual({ read: 1, held: 23, closed: 2 });
  for (let read = 2; read <= 4; read += 1) {
    await settle();
    expect(count(all)).toMatchObject({ read });
  }
  await clock.advance(249);
  expect(count(all)).toMatchObject({ read: 4 });
  for (let read = 5; read <= 24; read += 1) {
    await clock.advance(250);
    expect(count(all)).toEqual({ read, held: 24 - read, closed: 2 });
    expect(all[read - 1]?.state()).toBe('read');
  }
  expect(clock.pendingTimers).toBe(0);
});

test('one is read in a turn, over all networks, and no network waits for more than one of each other', async () => {
  const { openAll } = create();
  const many = openAll('1.1.1.1', 4);
  const [other] = openAll('2.2.2.2', 1);
  await settle();
  await settle();
  expect([count(many).read, other?.state()]).toEqual([2, 'read']);
});

test('what is opened later comes after what waits, and time gives a second of them back', async () => {
  const { clock, openAll } = create();
  openAll('1.1.1.1', 4);
  await clock.advance(200);
  expect(count(openAll('1.1.1.1', 1))).toMatchObject({ held: 1 });
  // There is one again, for which the first one waits.
  await clock.advance(100);
  expect(count(openAll('1.1.1.1', 1))).toMatchObject({ held: 1 });
  await clock.advance(2_000);
  const later = openAll('1.1.1.1', 6);
  await clock.advance(0);
  expect(count(later)).toEqual({ read: 4, held: 2, closed: 0 });
});

test('connections that close while they wait take no time', async () => {
  const { clock, openAll } = create();
  const waiting = openAll('1.1.1.1', 8).slice(4);
  for (const { socket } of waiting.slice(0, 3)) Object.assign(socket, { destroyed: true });
  await clock.advance(250);
  expect([waiting[3]?.state(), clock.pendingTimers]).toEqual(['read', 0]);
});

test('each client network has its own limit: an IPv4 address, or a /64', async () => {
  const { clock, openAll } = create();
  const readOf = async (address: string, opened: number): Promise<number> => {
    const all = openAll(address, opened);
    await clock.advance(0);
    return count(all).read;
  };
  expect(await readOf('1.1.1.1', 4)).toBe(4);
  expect(await readOf('1.1.1.2', 4)).toBe(4);
  expect(await readOf('::ffff:1.1.1.1', 1)).toBe(0);
  expect(await readOf('2001:db8::1', 4)).toBe(4);
  expect(await readOf('2001:db8::2', 1)).toBe(0);
  expect(await readOf('2001:db8:0:1::1', 1)).toBe(1);
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
  expect(count(openAll('192.0.2.2', 5))).toMatchObject({ held: 4 });
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
  for (let index = 0; index < 7; index += 1) opened.push(await open());
  for (const { client } of opened) client.resume().write(GET);
  await expect.poll(() => handled).toBe(1);
  expect(opened.slice(1).map(({ served }) => served.bytesRead)).toEqual(Array(6).fill(0));
  expect(opened.map(({ served }) => served.destroyed)).toEqual([...Array<boolean>(6).fill(false), true]);
  expect(brokenOff).toEqual(['opens connections too fast']);
  await clock.advance(1_000);
  await expect.poll(() => handled).toBe(2);
  const other = await open('127.0.0.2');
  other.client.write(GET);
  await once(other.client, 'data');
});
