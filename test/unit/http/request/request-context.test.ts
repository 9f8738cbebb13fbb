import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { ClientGone } from '../../../../src/http/errors/http-error.ts';
import { RequestContext } from '../../../../src/http/request/request-context.ts';
import { NO_SPAN } from '../../../../src/telemetry/spans.ts';

const CHARGING = { chargeMore: () => Promise.resolve(), chargeAfterwards: () => Promise.resolve() };

function contextOf(request: { ip: string | undefined }, raw = { destroyed: false }): RequestContext {
  return new RequestContext(request as FastifyRequest, { raw } as FastifyReply, NO_SPAN, CHARGING);
}

test('a client that has left, and so has no address, keeps its ID', () => {
  const request: { ip: string | undefined } = { ip: '1.2.3.4' };
  const context = contextOf(request);
  expect(context.client).toBe('address:1.2.3.4');
  request.ip = undefined;
  expect(context.client).toBe('address:1.2.3.4');
});

test('the signal aborts when the client leaves, and is aborted if it has left', () => {
  const context = contextOf({ ip: '1.2.3.4' });
  const { signal } = context;
  expect(signal.aborted).toBe(false);
  context.abandon();
  expect(signal.reason).toBeInstanceOf(ClientGone);
  expect(contextOf({ ip: undefined }, { destroyed: true }).signal.reason).toBeInstanceOf(ClientGone);
});
