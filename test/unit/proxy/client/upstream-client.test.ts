import { getEventListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { UpstreamClient } from '../../../../src/proxy/client/upstream-client.ts';
import { NO_SPAN } from '../../../../src/telemetry/spans.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const REQUEST = {
  method: 'GET' as const,
  target: '/',
  subject: 'subject',
  timeoutMs: 1_000,
  client: 'a client',
  span: NO_SPAN,
};

function openClient(dispatch: Dispatcher['dispatch']) {
  const clock = new FakeClock();
  const upstream = new UpstreamClient({
    name: 'upstream',
    endpoint: { baseUrl: 'http://upstream.example' },
    clock,
    openHttp: () => ({ dispatch, destroy: async () => undefined }) as unknown as Dispatcher,
    maxResponseBytes: 1_000,
    onCircuit: () => undefined,
  });
  return { clock, upstream };
}

const CONTROLLER = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
const BROKEN = Object.assign(new Error('broken'), { code: 'ECONNRESET' });

test('both attempts together have one deadline', async () => {
  const handlers: Dispatcher.DispatchHandler[] = [];
  const { clock, upstream } = openClient((_request, handler) => handlers.push(handler) > 0);
  await using _upstream = upstream;
  const { signal } = new AbortController();
  const failure = upstream.request({ ...REQUEST, signal }).catch(String);
  await clock.advance(600);
  handlers[0]?.onResponseError?.(CONTROLLER, BROKEN);
  await settle();
  expect(handlers).toHaveLength(2);
  await clock.advance(400);
  expect(await Promise.race([failure, settle()])).toContain('did not answer within 1000 ms');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a request whose client leaves in the tick in which its connection breaks is not sent again', async () => {
  const gone = new Error('gone');
  const client = new AbortController();
  let sent = 0;
  const { upstream } = openClient((_request, handler) => {
    sent += 1;
    queueMicrotask(() => {
      handler.onResponseError?.(CONTROLLER, BROKEN);
      client.abort(gone);
    });
    return true;
  });
  await using _upstream = upstream;
  await expect(upstream.request({ ...REQUEST, signal: client.signal })).rejects.toBe(gone);
  expect(sent).toBe(1);
});
