import { getEventListeners } from 'node:events';
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Clock } from '../../../../src/lib/concurrency/clock.ts';
import { concatBytes } from '../../../../src/lib/encoding/bytes.ts';
import {
  type AppOutcome,
  type AppRequestsHooks,
  createAppRequests,
} from '../../../../src/p2p/connection/app-requests.ts';
import { AppErrorSchema, AppResponseSchema } from '../../../../src/p2p/gen/p2p_pb.js';
import { parseMessage } from '../../../../src/p2p/wire/messages.ts';
import { idBytes, type NodeID, P_CHAIN_ID } from '../../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const MAX_PENDING = 5;
const node = (index: number): NodeID => `NodeID-${index}` as NodeID;
const chainId = idBytes(P_CHAIN_ID);
const APP_BYTES = Uint8Array.of(1);
const NO_HOOKS: AppRequestsHooks = { beforeTimeout: () => undefined, onEnd: () => undefined };
const responseTo = (requestId: number) => create(AppResponseSchema, { chainId, requestId });

function open({ clock = new FakeClock() as Clock, maxPending = MAX_PENDING, hooks = NO_HOOKS } = {}) {
  const requests = createAppRequests(clock, maxPending, hooks);
  /** Requests with a timeout of 10 ms of which no node hears. */
  const ask = (index: number, signal = new AbortController().signal) =>
    requests.send(...([node(index), P_CHAIN_ID, APP_BYTES, { timeoutMs: 10, signal }] as const), {
      send: () => undefined,
      ping: () => () => false,
    });
  return { requests, ask };
}

it('a node owes one answer to each request, also to one that has ended, until its connection ends', async () => {
  const { requests, ask } = open();
  const answer = (requestId: number, index = 0): boolean => requests.onResponse(node(index), responseTo(requestId));
  expect(answer(1)).toBe(false);
  const ended = new AbortController();
  const asked = [ask(0), ask(0, ended.signal), ask(0)];
  ended.abort();
  expect(answer(1, 1)).toBe(false);
  expect([answer(1), answer(3), answer(3), answer(3)]).toEqual([true, true, true, false]);
  asked.push(ask(0));
  requests.onDisconnected(node(0), 'lost');
  expect(requests.onError(node(0), create(AppErrorSchema, { chainId, requestId: 7 }))).toBe(false);
  await Promise.allSettled(asked);
});

interface Sent {
  readonly nodeID: NodeID;
  readonly requestId: number;
  readonly pingMs: number;
  readonly dueMs: number;
  readonly controller: AbortController;
  settled: AppOutcome | { kind: 'aborted' } | undefined;
}

const step = fc.record({
  do: fc.constantFrom('send', 'send', 'send', 'answer', 'stray', 'fail', 'abort', 'disconnect', 'wait'),
  node: fc.nat({ max: 2 }),
  which: fc.nat(),
  ms: fc.integer({ min: 1, max: 50 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Requests to three nodes, with what the rules say of each. */
interface Model {
  readonly clock: FakeClock;
  readonly requests: ReturnType<typeof createAppRequests>;
  readonly answersPings: boolean;
  readonly sent: Sent[];
  readonly expected: Map<Sent, string>;
  readonly pingedMs: Map<number, number>;
}

function createModel(answersPings: boolean): Model {
  const clock = new FakeClock();
  const requests = createAppRequests(clock, MAX_PENDING, NO_HOOKS);
  return { clock, requests, answersPings, sent: [], expected: new Map(), pingedMs: new Map() };
}

async function apply(model: Model, step: Step): Promise<void> {
  const request = model.sent[step.which % Math.max(1, model.sent.length)];
  if (step.do === 'send') await send(model, node(step.node), step.ms);
  else if (step.do === 'wait') await wait(model, step.ms);
  else if (step.do === 'disconnect') disconnect(model, node(step.node));
  else if (request !== undefined) end(model, request, step.do);
}

async function send(model: Model, nodeID: NodeID, timeoutMs: number): Promise<void> {
  const controller = new AbortController();
  const startMs = model.clock.monotonicMs();
  let requestId = 0;
  const outcome = model.requests.send(
    ...([nodeID, P_CHAIN_ID, APP_BYTES, { timeoutMs, signal: controller.signal }] as const),
    {
      send(head, appBytes) {
        // A fan-out makes no copies.
        expect(appBytes).toBe(APP_BYTES);
        const message = parseMessage(concatBytes(head, appBytes));
        if (message.case === 'appRequest') requestId = message.value.requestId;
        return undefined;
      },
      ping: () => {
        model.pingedMs.set(requestId, model.clock.monotonicMs());
        return () => model.answersPings;
      },
    },
  );
  if (waiting(model).length >= MAX_PENDING) {
    expect(requestId).toBe(0);
    expect((await outcome).kind).toBe('not_asked');
    return;
  }
  expect(requestId % 2).toBe(1);
  const times = { pingMs: startMs + timeoutMs / 2, dueMs: startMs + timeoutMs };
  const request: Sent = { nodeID, requestId, ...times, controller, settled: undefined };
  model.sent.push(request);
  outcome.then(
    (settled) => Object.assign(request, { settled }),
    () => Object.assign(request, { settled: { kind: 'aborted' } }),
  );
}

async function wait(model: Model, ms: number): Promise<void> {
  await model.clock.advance(ms);
  const reason = model.answersPings ? 'request_dropped' : 'no_answer';
  for (const each of waiting(model)) if (each.dueMs <= model.clock.monotonicMs()) model.expected.set(each, reason);
}

function disconnect(model: Model, nodeID: NodeID): void {
  model.requests.onDisconnected(nodeID, 'gone');
  for (const each of waiting(model)) if (each.nodeID === nodeID) model.expected.set(each, 'unreachable');
}

function end(model: Model, request: Sent, how: 'answer' | 'stray' | 'fail' | 'abort'): void {
  const { nodeID, requestId, controller } = request;
  if (how === 'answer') model.requests.onResponse(nodeID, responseTo(requestId));
  if (how === 'stray') {
    model.requests.onResponse(node(3), responseTo(requestId));
    model.requests.onResponse(nodeID, create(AppResponseSchema, { chainId: new Uint8Array(31), requestId }));
    model.requests.onResponse(nodeID, responseTo(requestId + 1_000));
  }
  if (how === 'fail') model.requests.onError(nodeID, create(AppErrorSchema, { chainId, requestId }));
  if (how === 'abort') controller.abort(new Error('aborted'));
  const kind = { answer: 'response', stray: undefined, fail: 'refused', abort: 'aborted' }[how];
  if (kind !== undefined && !model.expected.has(request)) model.expected.set(request, kind);
}

function waiting(model: Model): Sent[] {
  return model.sent.filter((request) => !model.expected.has(request));
}

/** State is kept for waiting requests only, and each was pinged at half of its time. */
function expectWaiting(model: Model): void {
  const all = waiting(model);
  expect(model.requests.size).toBe(all.length);
  for (const { requestId, pingMs } of all) {
    expect(model.pingedMs.get(requestId)).toBe(pingMs <= model.clock.monotonicMs() ? pingMs : undefined);
  }
  expect(model.clock.pendingTimers).toBe(all.length);
}

/** Outcomes of all requests, and what they should be. */
function outcomes(model: Model): { readonly actual: readonly unknown[]; readonly expected: readonly unknown[] } {
  const actual = model.sent.map(({ settled }) => (settled?.kind === 'timed_out' ? settled.reason : settled?.kind));
  return { actual, expected: model.sent.map((request) => model.expected.get(request)) };
}

it('each request is settled once by the first event of its node and chain, and keeps no state', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (script, answersPings) => {
      const model = createModel(answersPings);
      for (const each of script) {
        await apply(model, each);
        expectWaiting(model);
      }
      await settle();
      const { actual, expected } = outcomes(model);
      expect(actual).toEqual(expected);
    }),
  );
});

it('a response counts that arrived during a pause of this process', async () => {
  const time = new FakeClock();
  const turns: (() => void)[] = [];
  const clock: Clock = {
    now: () => time.now(),
    monotonicMs: () => time.monotonicMs(),
    after: (delayMs, callback) => time.after(delayMs, callback),
    afterTurn: (callback) => void turns.push(callback),
  };
  const { requests, ask } = open({ clock });
  const outcomes = [ask(1), ask(2)];
  await time.advance(10);
  // Timers fire before sockets are read.
  requests.onResponse(node(1), responseTo(1));
  for (const turn of turns) turn();
  expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(['response', 'timed_out']);
  expect([requests.size, time.pendingTimers]).toEqual([0, 0]);
});

it('a response counts that was received before the timeout and handled after it', async () => {
  const clock = new FakeClock();
  const ends: [string, number][] = [];
  const { requests, ask } = open({
    clock,
    hooks: {
      beforeTimeout: (nodeID) => void (nodeID === node(1) && requests.onResponse(nodeID, responseTo(1))),
      onEnd: ({ kind }, ms) => void ends.push([kind, ms]),
    },
  });
  const outcomes = [ask(1), ask(2)];
  await clock.advance(20);
  expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(['response', 'timed_out']);
  expect(ends).toEqual([
    ['response', 10],
    ['timed_out', 10],
  ]);
});

it('all requests with a signal add one listener to it', async () => {
  const clock = new FakeClock();
  const { requests, ask } = open({ clock, maxPending: 100 });
  const controller = new AbortController();
  const { signal } = controller;
  const outcomes = Array.from({ length: 20 }, (_, index) => ask(index, signal));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  requests.onResponse(node(0), responseTo(1));
  expect((await outcomes[0])?.kind).toBe('response');
  controller.abort(new Error('over'));
  const ends = await Promise.allSettled(outcomes.slice(1));
  expect(ends.every((end) => end.status === 'rejected' && end.reason === signal.reason)).toBe(true);
  expect([requests.size, clock.pendingTimers, getEventListeners(signal, 'abort').length]).toEqual([0, 0, 0]);
  // The listener goes with the last request, too.
  const lasting = new AbortController().signal;
  const last = ask(20, lasting);
  requests.onResponse(node(20), responseTo(41));
  expect((await last).kind).toBe('response');
  expect(getEventListeners(lasting, 'abort')).toHaveLength(0);
});
