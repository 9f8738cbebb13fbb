import type { FastifyReply, FastifyRequest } from 'fastify';
import { etagOf, matchesEtag } from '../../lib/net/etag.ts';

/** A document that is serialized once and sent to all clients. */
export interface DocumentBytes {
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly etag: string;
}

export function createDocumentBytes(content: string | Uint8Array, contentType: string): DocumentBytes {
  const bytes = Buffer.from(content);
  return { bytes, contentType, etag: etagOf(bytes) };
}

export function sendDocument(request: FastifyRequest, reply: FastifyReply, document: DocumentBytes): FastifyReply {
  reply.headers({ etag: document.etag, 'cache-control': 'no-cache' });
  if (matchesEtag(request.headers['if-none-match'], document.etag)) return reply.status(304).send();
  return reply.type(document.contentType).send(document.bytes);
}
