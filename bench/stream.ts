import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Agent, request } from 'undici';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { type Rig, readResources, startRig } from './rig.ts';
import { newMessages } from './service.ts';
import { median, round } from './statistics.ts';

const DEFAULT_SIZES = [20, 200, 2_000];
/** Of each of the two kinds, in turns; at 2,000 validators one takes seconds on a busy machine, so there are fewer. */
const roundsOf = (validators: number): number => (validators >= 1_000 ? 10 : 30);
/** Not counted, as the code is still being compiled. */
const WARM_UP = 4;
/** Connections of a client that never reads, and the streams that it asks for on each. */
const UNREAD = { connections: 64, streams: 16 };
const PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';

/** What a streamed aggregation costs beside a plain one, and what a client costs that reads nothing of it. */
export async function benchStream({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const validators of sizes.length > 0 ? sizes : DEFAULT_SIZES) {
    await using rig = await startRig(validators);
    const name = (what: string): string => `${validators} validators: ${what}`;
    await benchRequests(rig, roundsOf(validators), name, report);
    await benchUnread(rig, name, report);
  }
}

type Naming = (what: string) => string;

async function benchRequests(rig: Rig, rounds: number, name: Naming, report: (row: Row) => void): Promise<void> {
  const agent = new Agent();
  const messages = await newMessages(rig.devnetUrl, 2 * (rounds + WARM_UP));
  const plain: Measured[] = [];
  const streamed: Measured[] = [];
  for (let index = 0; index < rounds + WARM_UP; index += 1) {
    const [first = '', second = ''] = messages.splice(0, 2);
    // Each is first as often as second.
    const kinds = index % 2 === 0 ? [plain, streamed] : [streamed, plain];
    for (const [into, message] of [[kinds[0], first] as const, [kinds[1], second] as const]) {
      const measured = await measure(rig, message, into === streamed, agent);
      if (index >= WARM_UP) into?.push(measured);
    }
  }
  await agent.close();
  for (const [kind, measured] of [['plain request', plain] as const, ['streamed request', streamed] as const]) {
    report({
      name: name(kind),
      n: rounds,
      ms: round(median(measured.map(({ ms }) => ms))),
      cpu_ms: round(median(measured.map(({ cpuMs }) => cpuMs))),
      kb: Math.round(median(measured.map(({ bytes }) => bytes)) / 1024),
      events: median(measured.map(({ events }) => events)),
    });
  }
}

interface Measured {
  readonly ms: number;
  readonly cpuMs: number;
  readonly bytes: number;
  readonly events: number;
}

async function measure(rig: Rig, message: string, isStreamed: boolean, dispatcher: Agent): Promise<Measured> {
  const { url } = rig.service;
  const before = await readResources(url, dispatcher);
  const sentMs = performance.now();
  const { statusCode, body } = await request(`${url}${PATH}`, {
    method: 'POST',
    dispatcher,
    headers: { 'content-type': 'application/json', ...(isStreamed && { accept: 'text/event-stream' }) },
    body: JSON.stringify({ message }),
  });
  const text = await body.text();
  const ms = performance.now() - sentMs;
  if (statusCode !== (isStreamed ? 200 : 201) || !text.includes('"signedMessage"')) throw new Error(text);
  const after = await readResources(url, dispatcher);
  const events = text.match(/^event: /gm)?.length ?? 0;
  return { ms, cpuMs: 1_000 * (after.cpuSeconds - before.cpuSeconds), bytes: text.length, events };
}

async function benchUnread(rig: Rig, name: Naming, report: (row: Row) => void): Promise<void> {
  const { url } = rig.service;
  const [message = '', after = ''] = await newMessages(rig.devnetUrl, 2);
  const before = await readResources(url);
  const body = JSON.stringify({ message });
  const head = `POST ${PATH} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\ncontent-type: application/json`;
  const one = `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const sockets: Socket[] = [];
  for (let number = 0; number < UNREAD.connections; number += 1) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').pause();
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(one.repeat(UNREAD.streams));
    sockets.push(socket);
  }
  // Its own end comes after theirs, as it is begun later.
  const agent = new Agent();
  await measure(rig, message, true, agent);
  const during = await readResources(url, agent);
  await measure(rig, after, true, agent);
  for (const socket of sockets) socket.destroy();
  await agent.close();
  report({
    name: name(`${UNREAD.connections * UNREAD.streams} streams unread`),
    mib_before: before.rssMib,
    mib_during: during.rssMib,
    heap_before: before.heapMib,
    heap_during: during.heapMib,
  });
}
