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

interface Sent {
  readonly nodeID: NodeID;
  readonly requestId: number;
  readonly pingMs: number;
  readonly dueMs: number;
  readonly controller: AbortController;
  settled: AppOutcome | { kind: 'aborted' } | undefined;
}

const steps = fc.array(
  fc.record({
    do: fc.constantFrom('send', 'send', 'send', 'answer', 'stray', 'fail', 'abort', 'disconnect', 'wait'),
    node: fc.nat({ max: 2 }),
    which: fc.nat(),
    ms: fc.integer({ min: 1, max: 50 }),
  }),
  { maxLength: 40 },
);

it('each request is settled once by the first event of its node and chain, and keeps no state', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (script, answersPings) => {
      const clock = new FakeClock();
      const requests = createAppRequests(clock, MAX_PENDING, NO_HOOKS);
      const sent: Sent[] = [];
      const expected = new Map<Sent, string>();
      const pingedMs = new Map<number, number>();
      const waiting = (): Sent[] => sent.filter((request) => !expected.has(request));

      async function send(nodeID: NodeID, timeoutMs: number): Promise<void> {
        const controller = new AbortController();
        const startMs = clock.monotonicMs();
        let requestId = 0;
        const outcome = requests.send(
          ...([nodeID, P_CHAIN_ID, APP_BYTES, { timeoutMs, signal: controller.signal }] as const),
          {
            send(head, appBytes) {
              // A fan-out makes no copies.
              expect(appBytes).toBe(APP_BYTES);
              const message = parseMessage(concatBytes(head, appBytes));
              if (message.case === 'appRequest') requestId = message.value.requestId;
              return undefined;
            },
            ping() {
              pingedMs.set(requestId, clock.monotonicMs());
              return () => answersPings;
            },
          },
        );
        if (waiting().length >= MAX_PENDING) {
          expect(requestId).toBe(0);
          expect((await outcome).kind).toBe('not_asked');
          return;
        }
        expect(requestId % 2).toBe(1);
        const times = { pingMs: startMs + timeoutMs / 2, dueMs: startMs + timeoutMs };
        const request: Sent = { nodeID, requestId, ...times, controller, settled: undefined };
        sent.push(request);
        outcome.then(
          (settled) => Object.assign(request, { settled }),
          () => Object.assign(request, { settled: { kind: 'aborted' } }),
        );
      }

      for (const step of script) {
        const request = sent[step.which % Math.max(1, sent.length)];
        if (step.do === 'send') {
          await send(node(step.node), step.ms);
        } else if (step.do === 'wait') {
          await clock.advance(step.ms);
          for (const each of waiting()) {
            if (each.dueMs <= clock.monotonicMs()) expected.set(each, answersPings ? 'request_dropped' : 'no_answer');
          }
        } else if (step.do === 'disconnect') {
          requests.onDisconnected(node(step.node), 'gone');
          for (const each of waiting()) if (each.nodeID === node(step.node)) expected.set(each, 'unreachable');
        } else if (request !== undefined) {
          const { nodeID, requestId } = request;
          if (step.do === 'answer') requests.onResponse(nodeID, responseTo(requestId));
          if (step.do === 'stray') {
            requests.onResponse(node(3), responseTo(requestId));
            requests.onResponse(nodeID, create(AppResponseSchema, { chainId: new Uint8Array(31), requestId }));
            requests.onResponse(nodeID, responseTo(requestId + 1_000));
          }
          if (step.do === 'fail') requests.onError(nodeID, create(AppErrorSchema, { chainId, requestId }));
          if (step.do === 'abort') request.controller.abort(new Error('aborted'));
          const kind = { answer: 'response', stray: undefined, fail: 'refused', abort: 'aborted' }[step.do];
          if (kind !== undefined && !expected.has(request)) expected.set(request, kind);
        }
        expect(requests.size).toBe(waiting().length);
        for (const { requestId, pingMs } of waiting()) {
          expect(pingedMs.get(requestId)).toBe(pingMs <= clock.monotonicMs() ? pingMs : undefined);
        }
        expect(clock.pendingTimers).toBe(waiting().length);
      }
      await settle();
      expect(sent.map(({ settled }) => (settled?.kind === 'timed_out' ? settled.reason : settled?.kind))).toEqual(
        sent.map((request) => expected.get(request)),
      );
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
