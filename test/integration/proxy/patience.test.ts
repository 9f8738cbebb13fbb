import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { sendJson } from './stand-in.ts';
import { ANSWERS } from './stand-in-records.ts';
import { startUpstreamService, type UpstreamService } from './upstream-service.ts';

/** How long each route waits for its upstream, by a clock of the test. */

const TIMEOUT_MS = 10_000;
const BLOCKCHAINS = '/v1/networks/fuji/blockchains?pageSize=10000';
const OTHERS = ['/v1/networks/fuji/validators', '/v1/chains/43114/blocks/1', '/v1/avg_tps/43114', '/v1/chains'];

let clock: FakeClock;
let service: UpstreamService;
beforeEach(async () => {
  clock = new FakeClock();
  service = await startUpstreamService({ clock, settings: { timeoutMs: TIMEOUT_MS } });
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

/** Asks for a target; the upstream has got it, and has not answered, when this resolves. */
async function ask(target: string): Promise<{ answer: Promise<{ status: number }>; response: ServerResponse }> {
  const arrived = Promise.withResolvers<ServerResponse>();
  service.standIn.behaviour = (_request, response) => arrived.resolve(response);
  const answer = service.get(target);
  return { response: await arrived.promise, answer };
}

test.each([...OTHERS.map((target) => [1, target] as const), [3, BLOCKCHAINS] as const])(
  'waits %d times as long as configured for %s, and no longer',
  async (patience, target) => {
    const inTime = await ask(target);
    await clock.advance(patience * TIMEOUT_MS - 1);
    sendJson(inTime.response, 200, ANSWERS.listBlockchains);
    expect((await inTime.answer).status).toBe(200);

    const late = await ask(target);
    await clock.advance(patience * TIMEOUT_MS);
    expect((await late.answer).status).toBe(503);
    late.response.destroy();
  },
);
