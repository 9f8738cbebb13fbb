import fastify from 'fastify';
import { expect, test } from 'vitest';
import type { Server } from '../../../../src/http/request/http-server.ts';
import { RequestContext } from '../../../../src/http/request/request-context.ts';
import { scheduleRequests } from '../../../../src/http/server/schedule-requests.ts';
import { NO_SPAN } from '../../../../src/telemetry/spans.ts';
import { settle } from '../../../support/fake-clock.ts';

test('clients behind one proxy are served round robin, and health checks at once', async () => {
  const turns: (() => void)[] = [];
  const started: string[] = [];
  await using server = fastify({ trustProxy: true }) as unknown as Server;
  server.decorateRequest('context');
  server.addHook('onRequest', (request, reply, done) => {
    request.context = new RequestContext(request, reply, NO_SPAN, {
      chargeMore: () => Promise.resolve(),
      chargeAfterwards: () => Promise.resolve(),
    });
    done();
  });
  scheduleRequests(server, { afterTurn: (callback) => void turns.push(callback) });
  for (const group of ['aggregation', 'operations'] as const) {
    server.get(`/${group}`, { config: { access: { group, units: 1 } } }, async ({ ip }) => {
      started.push(ip);
      return {};
    });
  }
  const ask = (client: string, url = '/aggregation') =>
    server.inject({ url, headers: { 'x-forwarded-for': client } }).then(({ statusCode }) => statusCode);
  const answers = Array.from({ length: 60 }, () => ask('1.1.1.1'));
  answers.push(ask('2.2.2.2'), ask('3.3.3.3', '/operations'));
  for (let turn = 0; turn < 5; turn += 1) await settle();
  expect(started.filter((ip) => ip === '1.1.1.1')).toHaveLength(16);
  expect(started).toContain('3.3.3.3');
  for (const turn of turns.splice(0)) turn();
  for (let turn = 0; turn < 5; turn += 1) await settle();
  expect(started).toContain('2.2.2.2');
  while (turns.length > 0) {
    for (const turn of turns.splice(0)) turn();
    await settle();
  }
  expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
});
