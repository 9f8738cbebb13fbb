import type { FastifyReply } from 'fastify';

/** Media type of every JSON answer, without a charset (RFC 8259, section 11): some clients compare the whole header. */
export const JSON_TYPE = 'application/json';

/** Removes the charset that Fastify and upstreams add. */
export function dropJsonCharset(reply: FastifyReply): void {
  const type = reply.getHeader('content-type');
  if (typeof type === 'string' && type !== JSON_TYPE && /^application\/json\s*;/i.test(type)) reply.type(JSON_TYPE);
}

/** Serializer for responses whose schema documents them but filters nothing: `JSON.stringify`, which needs no compiled schema. */
export const PLAIN_SERIALIZER = () => (value: unknown) => JSON.stringify(value);
