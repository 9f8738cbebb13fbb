import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { FairSemaphore } from '../../../../src/lib/concurrency/fair-semaphore.ts';
import { Exchange } from '../../../../src/lib/net/exchange.ts';
import { createDataApi } from '../../../../src/pchain/rpc/data-api.ts';
import { sendOnce } from '../../../../src/pchain/rpc/json-rpc-attempt.ts';
import { idFromBytes, type ValidationID } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const ENDPOINT = { baseUrl: 'http://api.example' };
const { signal } = new AbortController();

/** Rejects all requests with this error. */
function failingHttp(code: string) {
  const error = Object.assign(new Error(code), { code });
  return { error, openHttp: () => ({ request: () => Promise.reject(error) }) as unknown as Dispatcher };
}

test('a request that undici cannot send is an error of the program, not an API that fails', async () => {
  const clock = new FakeClock();
  const { error, openHttp } = failingHttp('UND_ERR_INVALID_ARG');
  const call = { path: '/', method: 'm', params: [], parseResult: () => undefined, maxResponseBytes: 1 };
  const options = {
    exchange: new Exchange(ENDPOINT, { clock, openHttp }),
    id: 1,
    timeoutMs: 1_000,
    longBodies: new FairSemaphore({ clock, limit: 1, keyShare: 1, maxQueued: 1 }),
    signal,
  };
  await expect(sendOnce(call, options)).rejects.toBe(error);
  const broken = new Exchange(ENDPOINT, { clock, openHttp: failingHttp('ECONNRESET').openHttp });
  expect(await sendOnce(call, { ...options, exchange: broken })).toMatchObject({ status: 'failed' });
  const dataApi = createDataApi({ endpoint: ENDPOINT, network: 'fuji', clock, timeoutMs: 1_000, openHttp });
  await expect(dataApi.transactionsOf(idFromBytes<ValidationID>(new Uint8Array(32), 'ID'), signal)).rejects.toBe(error);
});
