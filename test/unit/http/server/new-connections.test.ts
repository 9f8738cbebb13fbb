import { EventEmitter, once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { clientNetwork } from '../../../../src/http/request/client-identity.ts';
import type { ClientConnection } from '../../../../src/http/server/client-connection.ts';
import { NewConnections } from '../../../../src/http/server/new-connections.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { GET, openServer } from './open-server.ts';

const KIB = 1024;

type State = 'closed' | 'held' | 'read';

interface Flood {
  readonly trustedProxies?: readonly string[];
  /** Time of the turn that reads a connection. */
  readonly costMs?: number;
  /** What each connection sends first. */
  readonly firstBytes?: number;
}

/** Four connections of each network may wait; there is no network. */
function create({ trustedProxies = [], costMs = 0, firstBytes = 0 }: Flood = {}) {
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
  const opened: { receive(): void }[] = [];
  const open = (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, bytesRead: 0 });
    let state: State = 'read';
    const connection = {
      socket: socket as unknown as Socket,
      address: clientNetwork(remoteAddress),
      get isHeld() {
        return state === 'held';
      },
      hold: () => void (state = 'held'),
      release: () => void (state = 'read'),
      takeBytesRead: () => socket.bytesRead,
    } as ClientConnection;
    if (!newConnections.admit(connection)) state = 'closed';
    opened.push({
      receive() {
        if (state === 'read' && socket.bytesRead === 0) socket.bytesRead = firstBytes;
      },
    });
    return {
      socket,
      state: () => state,
      /** It was read before. The system has so much for it. */
      receive(bytes: number): void {
        if (state !== 'read') return;
        socket.bytesRead = bytes;
        newConnections.countRead(connection);
      },
    };
  };
  return {
    pauses,
    openAll: (address: string, count: number) => Array.from({ length: count }, () => open(address)),
    /** Two turns of the event loop: what a connection sent is read between them. */
    pass() {
      for (const isLast of [false, true]) {
        if (isLast) {
          nowMs += costMs;
          for (const each of opened) each.receive();
        }
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
  const { openAll, pass, pauses } = create({ firstBytes: 8 * KIB });
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

test('after a short one that took long, because the service is busy, all networks wait three times as long', () => {
  const { openAll, pass, pauses } = create({ costMs: 30, firstBytes: 8 * KIB });
  const all = [...openAll('1.1.1.1', 2), ...openAll('2.2.2.2', 1)];
  pass();
  expect([count(all).read, pauses.map(({ ms }) => ms)]).toEqual([1, [90]]);
  pauses[0]?.end();
  expect(count(all)).toMatchObject({ read: 2, held: 1 });
});

test('after one that sent much at first, the next of its network waits three times as long as it took', () => {
  const { openAll, pass, pauses } = create({ costMs: 40, firstBytes: 8 * KIB + 1 });
  const all = openAll('1.1.1.1', 3);
  pass();
  expect([count(all).read, pauses.map(({ ms }) => ms)]).toEqual([1, [120]]);
  // Also one that comes during the pause. Another network does not wait for it.
  expect(count([...openAll('2.2.2.2', 1), ...openAll('1.1.1.1', 1)])).toMatchObject({ read: 1, held: 1 });
  pass();
  expect(count(all).read).toBe(1);
  pauses[0]?.end();
  expect(count(all).read).toBe(2);
});

test.each([
  ['of a network', 64 * KIB, 500],
  ['of all', KIB, 100],
])('a pause %s has a bound', (_, firstBytes, maxMs) => {
  const { openAll, pass, pauses } = create({ costMs: 10_000, firstBytes });
  openAll('1.1.1.1', 1);
  pass();
  expect(pauses.map(({ ms }) => ms)).toEqual([maxMs]);
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

describe('a network that sends much in one turn', () => {
  /** Connections that were read before, and sent nothing. */
  function openIdle(trustedProxies: readonly string[] = []) {
    const created = create({ trustedProxies });
    const openAll = (address: string, count: number) =>
      Array.from({ length: count }, () => {
        const [connection] = created.openAll(address, 1);
        created.pass();
        return connection!;
      });
    return { ...created, openAll };
  }

  test('has all its connections read one after the other, from the bound on', () => {
    const { openAll, pass, pauses } = openIdle();
    const [flood, other] = [openAll('1.1.1.1', 128), openAll('2.2.2.2', 1)];
    expect(count([...flood, ...other])).toMatchObject({ read: 129 });
    for (const each of flood) each.receive(64 * KIB);
    expect(flood.filter(({ socket }) => socket.bytesRead > 0)).toHaveLength(2);
    expect([count(flood), count(other)]).toMatchObject([{ held: 128 }, { read: 1 }]);
    pass();
    pauses[0]?.end();
    expect(count(flood)).toMatchObject({ held: 127, read: 1 });
    // Each of the rest starts the next pause.
    for (const [index, each] of flood.entries()) {
      expect(each.state()).toBe('read');
      each.socket.bytesRead += 64 * KIB;
      pass();
      pauses[index + 1]?.end();
    }
    expect([count(flood), pauses.length]).toEqual([{ read: 128, held: 0, closed: 0 }, 129]);
  });

  test('may send as much again in the next turn', () => {
    const { openAll, pass } = openIdle();
    const all = openAll('1.1.1.1', 4);
    for (const half of [all.slice(0, 2), all.slice(2)]) {
      for (const each of half) each.receive(63 * KIB);
      pass();
    }
    expect(count(all)).toMatchObject({ read: 4 });
  });

  test('that is a trusted proxy has no bound', () => {
    const { openAll } = openIdle(['1.1.1.1']);
    const all = openAll('1.1.1.1', 8);
    for (const each of all) each.receive(64 * KIB);
    expect(count(all)).toMatchObject({ read: 8 });
  });
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

test('of a connection that waits, nothing is read, also if it was read before', async () => {
  const clock = new FakeClock();
  let [nowMs, turnMs] = [0, 0];
  const slow = Object.assign(Object.create(clock) as FakeClock, {
    monotonicMs: () => (nowMs += turnMs),
    after: clock.after.bind(clock),
    afterTurn: clock.afterTurn.bind(clock),
  });
  const newConnections = new NewConnections({ clock: slow, maxWaiting: 4, trustedProxies: [] });
  const listener: RequestListener = (_request, response) => void response.end();
  const { open, brokenOff } = await openServer(listener, { clock, newConnections });
  const flood: Awaited<ReturnType<typeof open>>[] = [];
  while (flood.length < 16) {
    const opened = await open();
    flood.push(opened);
    opened.client.write(GET);
    await once(opened.client, 'data');
  }
  // The service finds all of it in one turn, which takes so long that the pause is the longest.
  turnMs = 200;
  for (const { client } of flood) client.resume().write(GET.repeat((60 * KIB) / GET.length));
  for (let turn = 0; turn < 10; turn += 1) await settle();
  const readCount = (): number => flood.filter(({ served }) => served.bytesRead > GET.length).length;
  const first = readCount();
  expect(first).toBeLessThan(16);

  // Another network does not wait.
  const [more, other] = [await open(), await open('127.0.0.2')];
  other.client.write(GET);
  await once(other.client, 'data');
  expect(more.served.destroyed).toBe(true);
  expect(brokenOff).toContain('opens connections too fast');
  // The rest follow one after the other.
  for (const count of [0, 1, 2]) {
    expect(readCount()).toBe(first + count);
    await clock.advance(500);
  }
});
