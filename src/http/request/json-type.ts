import type { FastifyReply } from 'fastify';

/** The media type of every JSON answer. JSON is UTF-8 and has no charset parameter (RFC 8259, section 11); some clients compare the whole header. */
export const JSON_TYPE = 'application/json';

/** Takes the charset off, which Fastify and upstreams add. */
export function dropJsonCharset(reply: FastifyReply): void {
  const type = reply.getHeader('content-type');
  if (typeof type === 'string' && type !== JSON_TYPE && /^application\/json\s*;/i.test(type)) reply.type(JSON_TYPE);
}
