import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A document that is serialized once and sent to all clients. */
export interface DocumentBytes {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly etag: string;
}

export function createDocumentBytes(content: string | Uint8Array, contentType: string): DocumentBytes {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { bytes, contentType, etag: `"${hash}"` };
}

export function sendDocument(request: FastifyRequest, reply: FastifyReply, document: DocumentBytes): FastifyReply {
  const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  reply.headers({ etag: document.etag, 'cache-control': 'no-cache' });
  if (known.includes(document.etag) || known.includes('*')) return reply.status(304).send();
  return reply.type(document.contentType).send(document.bytes);
}
