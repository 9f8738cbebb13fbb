import { getEventListeners } from 'node:events';
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../../src/lib/concurrency/clock.ts';
import { concatBytes } from '../../../../src/lib/encoding/bytes.ts';
import { type AppOutcome, AppRequests } from '../../../../src/p2p/connection/app-requests.ts';
import { AppErrorSchema, AppResponseSchema } from '../../../../src/p2p/gen/p2p_pb.js';
import { parseMessage } from '../../../../src/p2p/wire/messages.ts';
import { idBytes, type NodeID, P_CHAIN_ID } from '../../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const MAX_PENDING = 5;
const node = (index: number): NodeID => `NodeID-${index}` as NodeID;
const chainId = idBytes(P_CHAIN_ID);
const APP_BYTES = Uint8Array.of(1);

function createSignal() {
  const controller = new AbortController();
  return { controller, signal: controller.signal };
}

interface Sent {
  readonly nodeID: NodeID;
  readonly requestId: number;
  readonly pingMs: number;
  readonly dueMs: number;
  readonly controller: AbortController;
  settled: AppOutcome | { kind: 'aborted' } | undefined;
}

type Step =
  | { readonly do: 'send'; readonly node: number; readonly timeoutMs: number }
  | { readonly do: 'answer' | 'fail' | 'abort'; readonly which: number }
  | { readonly do: 'disconnect'; readonly node: number }
  | { readonly do: 'wait'; readonly ms: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('send' as const),
        node: fc.nat({ max: 2 }),
        timeoutMs: fc.integer({ min: 1, max: 50 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('answer' as const, 'fail' as const, 'abort' as const),
        which: fc.nat(),
      }),
    },
    fc.record({ do: fc.constant('disconnect' as const), node: fc.nat({ max: 2 }) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 30 }) }),
  ),
  { maxLength: 40 },
);

describe('AppRequests', () => {
  it('settles each request once by the first event, and keeps no state', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (script, answersPings) => {
        const clock = new FakeClock();
        const requests = new AppRequests(clock, MAX_PENDING);
        const sent: Sent[] = [];
        const expected = new Map<Sent, string>();
        const pingedMs = new Map<number, number>();
        const waiting = (): Sent[] => sent.filter((request) => !expected.has(request));

        for (const step of script) {
          switch (step.do) {
            case 'send': {
              const controller = new AbortController();
              let requestId = 0;
              const outcome = requests.send(
                node(step.node),
                P_CHAIN_ID,
                APP_BYTES,
                { timeoutMs: step.timeoutMs, signal: controller.signal },
                {
                  send: (head, appBytes) => {
                    // A fan-out makes no copies.
                    expect(appBytes).toBe(APP_BYTES);
                    const message = parseMessage(concatBytes(head, appBytes));
                    if (message.case === 'appRequest') requestId = message.value.requestId;
                    return undefined;
                  },
                  ping: () => {
                    pingedMs.set(requestId, clock.monotonicMs());
                    return () => answersPings;
                  },
                },
              );
              if (waiting().length >= MAX_PENDING) {
                expect(requestId).toBe(0);
                expect((await outcome).kind).toBe('not_asked');
                break;
              }
              expect(requestId % 2).toBe(1);
              const dueMs = clock.monotonicMs() + step.timeoutMs;
              const pingMs = clock.monotonicMs() + step.timeoutMs / 2;
              const request: Sent = {
                nodeID: node(step.node),
                requestId,
                pingMs,
                dueMs,
                controller,
                settled: undefined,
              };
              outcome.then(
                (settled) => Object.assign(request, { settled }),
                () => Object.assign(request, { settled: { kind: 'aborted' } }),
              );
              sent.push(request);
              break;
            }
            case 'answer':
            case 'fail':
            case 'abort': {
              const request = sent[step.which % Math.max(1, sent.length)];
              if (request === undefined) break;
              const { nodeID, requestId } = request;
              if (step.do === 'answer') requests.onResponse(nodeID, create(AppResponseSchema, { chainId, requestId }));
              if (step.do === 'fail') requests.onError(nodeID, create(AppErrorSchema, { chainId, requestId }));
              if (step.do === 'abort') request.controller.abort(new Error('aborted'));
              if (!expected.has(request))
                expected.set(request, { answer: 'response', fail: 'refused', abort: 'aborted' }[step.do]);
              break;
            }
            case 'disconnect':
              requests.onDisconnected(node(step.node), 'gone');
              for (const request of waiting())
                if (request.nodeID === node(step.node)) expected.set(request, 'unreachable');
              break;
            case 'wait':
              await clock.advance(step.ms);
              for (const request of waiting())
                if (request.dueMs <= clock.monotonicMs())
                  expected.set(request, answersPings ? 'request_dropped' : 'no_answer');
              break;
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

  it('accepts a response only from the requested node and for the chain', async () => {
    const clock = new FakeClock();
    const requests = new AppRequests(clock, MAX_PENDING);
    const outcome = requests.send(
      node(1),
      P_CHAIN_ID,
      Uint8Array.of(1),
      { timeoutMs: 10, signal: new AbortController().signal },
      { send: () => undefined, ping: () => () => false },
    );
    requests.onResponse(node(2), create(AppResponseSchema, { chainId, requestId: 1 }));
    requests.onResponse(node(1), create(AppResponseSchema, { chainId: new Uint8Array(31), requestId: 1 }));
    requests.onResponse(node(1), create(AppResponseSchema, { chainId, requestId: 3 }));
    expect(requests.size).toBe(1);
    await clock.advance(10);
    expect(await outcome).toEqual({ kind: 'timed_out', reason: 'no_answer' });
  });

  it('accepts a response that arrived during a pause of this process', async () => {
    const time = new FakeClock();
    const turns: (() => void)[] = [];
    const clock: Clock = {
      now: () => time.now(),
      monotonicMs: () => time.monotonicMs(),
      after: (delayMs, callback) => time.after(delayMs, callback),
      afterTurn: (callback) => void turns.push(callback),
    };
    const requests = new AppRequests(clock, MAX_PENDING);
    const ask = (nodeID: NodeID) =>
      requests.send(
        nodeID,
        P_CHAIN_ID,
        Uint8Array.of(1),
        { timeoutMs: 10, signal: new AbortController().signal },
        { send: () => undefined, ping: () => () => false },
      );
    const outcomes = [ask(node(1)), ask(node(2))];
    await time.advance(10);
    // Timers fire before sockets are read.
    requests.onResponse(node(1), create(AppResponseSchema, { chainId, requestId: 1 }));
    for (const turn of turns) turn();
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(['response', 'timed_out']);
    expect([requests.size, time.pendingTimers]).toEqual([0, 0]);
  });

  it('accepts a response that was received before the timeout and handled after it', async () => {
    const clock = new FakeClock();
    const ends: [string, number][] = [];
    const requests = new AppRequests(clock, MAX_PENDING, {
      beforeTimeout(nodeID) {
        if (nodeID === node(1)) requests.onResponse(nodeID, create(AppResponseSchema, { chainId, requestId: 1 }));
      },
      onEnd: ({ kind }, ms) => void ends.push([kind, ms]),
    });
    const options = { timeoutMs: 10, signal: new AbortController().signal };
    const target = { send: () => undefined, ping: () => () => false };
    const outcomes = [1, 2].map((index) => requests.send(node(index), P_CHAIN_ID, APP_BYTES, options, target));
    await clock.advance(20);
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(['response', 'timed_out']);
    expect(ends).toEqual([
      ['response', 10],
      ['timed_out', 10],
    ]);
  });

  it('adds one listener to a signal for all its requests', async () => {
    const clock = new FakeClock();
    const requests = new AppRequests(clock, 100);
    const { signal, controller } = createSignal();
    const ask = (index: number) =>
      requests.send(
        node(index),
        P_CHAIN_ID,
        Uint8Array.of(1),
        { timeoutMs: 10, signal },
        { send: () => undefined, ping: () => () => false },
      );
    const outcomes = Array.from({ length: 20 }, (_, index) => ask(index));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    requests.onResponse(node(0), create(AppResponseSchema, { chainId, requestId: 1 }));
    expect((await outcomes[0])?.kind).toBe('response');
    controller.abort(new Error('over'));
    const ends = await Promise.allSettled(outcomes.slice(1));
    expect(ends.every((end) => end.status === 'rejected' && end.reason === signal.reason)).toBe(true);
    expect([requests.size, clock.pendingTimers, getEventListeners(signal, 'abort').length]).toEqual([0, 0, 0]);
  });
});
