import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A document that is serialised once, and then sent to everybody as it is. */
export interface DocumentBytes {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly etag: string;
}

export function createDocumentBytes(content: string | Uint8Array, contentType: string): DocumentBytes {
  const bytes =
    typeof content === 'string'
      ? Buffer.from(content)
      : Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { bytes, contentType, etag: `"${hash}"` };
}

/** Answers 304 where the client has it already. */
export function sendDocument(request: FastifyRequest, reply: FastifyReply, document: DocumentBytes): FastifyReply {
  const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  reply.headers({ etag: document.etag, 'cache-control': 'no-cache' });
  if (known.includes(document.etag) || known.includes('*')) return reply.status(304).send();
  return reply.type(document.contentType).send(document.bytes);
}
