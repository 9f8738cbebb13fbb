import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { sendUpstreamAnswer } from '../../../../src/proxy/routes/upstream-reply.ts';

test.each(['GET', 'HEAD'])('the stream of an answer to %s is read only if it is sent', (method) => {
  const sent: unknown[] = [];
  const reply = Object.assign({} as FastifyReply, {
    status: () => reply,
    headers: () => reply,
    send: (body?: unknown) => {
      sent.push(body);
      return reply;
    },
  });
  const body = new Readable({ read: () => undefined });
  sendUpstreamAnswer({ method } as FastifyRequest, reply, { kind: 'success', status: 200, headers: {}, body });
  expect([sent, body.destroyed]).toEqual(method === 'HEAD' ? [[undefined], true] : [[body], false]);
});
