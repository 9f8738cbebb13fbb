import { getEventListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { createUpstreamClient } from '../../../../src/proxy/client/upstream-client.ts';
import { NO_SPAN } from '../../../../src/telemetry/spans.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const REQUEST = {
  method: 'GET' as const,
  target: '/',
  subject: 'subject',
  timeoutMs: 1_000,
  client: 'a client',
  requestID: 'a request',
  span: NO_SPAN,
};
const BROKEN = Object.assign(new Error('broken'), { code: 'ECONNRESET' });

/** Opens a client whose requests fail by the test, or with the reason of their signal. */
function openClient(onRequest: () => void = () => undefined) {
  const clock = new FakeClock();
  const fails: ((error: Error) => void)[] = [];
  const request: Dispatcher['request'] = ({ signal }: { readonly signal?: unknown }) =>
    new Promise((_resolve, reject) => {
      fails.push(reject);
      const sent = signal as AbortSignal;
      sent.addEventListener('abort', () => reject(sent.reason));
      onRequest();
    });
  const upstream = createUpstreamClient({
    name: 'upstream',
    endpoint: { baseUrl: 'http://upstream.example' },
    clock,
    openHttp: () => ({ request, destroy: async () => undefined }) as unknown as Dispatcher,
    maxResponseBytes: 1_000,
    onCircuit: () => undefined,
  });
  return { clock, upstream, fails };
}

test('both attempts together have one deadline', async () => {
  const { clock, upstream, fails } = openClient();
  await using _upstream = upstream;
  const { signal } = new AbortController();
  const failure = upstream.request({ ...REQUEST, signal }).catch(String);
  await clock.advance(600);
  fails[0]?.(BROKEN);
  await settle();
  expect(fails).toHaveLength(2);
  await clock.advance(400);
  expect(await failure).toContain('did not answer within 1000 ms');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a request whose client leaves in the tick in which its connection breaks is not sent again', async () => {
  const gone = new Error('gone');
  const client = new AbortController();
  const { upstream, fails } = openClient(() => {
    queueMicrotask(() => {
      fails[0]?.(BROKEN);
      client.abort(gone);
    });
  });
  await using _upstream = upstream;
  await expect(upstream.request({ ...REQUEST, signal: client.signal })).rejects.toBe(gone);
  expect(fails).toHaveLength(1);
});

test('a request that undici cannot send is an error of the program, not of the upstream', async () => {
  const { upstream, fails } = openClient();
  await using _upstream = upstream;
  const misuse = Object.assign(new Error('invalid header'), { code: 'UND_ERR_INVALID_ARG' });
  const asking = upstream.request({ ...REQUEST, signal: new AbortController().signal });
  await settle();
  fails[0]?.(misuse);
  await expect(asking).rejects.toBe(misuse);
});
