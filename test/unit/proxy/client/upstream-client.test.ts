import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { UpstreamClient } from '../../../../src/proxy/client/upstream-client.ts';
import { NO_SPAN } from '../../../../src/telemetry/spans.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

test('a request whose client leaves in the tick in which its connection breaks is not sent again', async () => {
  const gone = new Error('gone');
  const client = new AbortController();
  let sent = 0;
  const dispatch: Dispatcher['dispatch'] = (_request, handler) => {
    sent += 1;
    const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
    queueMicrotask(() => {
      handler.onResponseError?.(controller, Object.assign(new Error('broken'), { code: 'ECONNRESET' }));
      client.abort(gone);
    });
    return true;
  };
  await using upstream = new UpstreamClient({
    name: 'upstream',
    endpoint: { baseUrl: 'http://upstream.example' },
    clock: new FakeClock(),
    openHttp: () => ({ dispatch, destroy: async () => undefined }) as unknown as Dispatcher,
    maxResponseBytes: 1_000,
    onCircuit: () => undefined,
  });
  const request = { method: 'GET', target: '/', subject: 'subject', timeoutMs: 1_000 } as const;
  await expect(upstream.request(request, { signal: client.signal, span: NO_SPAN })).rejects.toBe(gone);
  expect(sent).toBe(1);
});
