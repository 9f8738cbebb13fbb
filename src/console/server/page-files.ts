import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createDocumentBytes, type DocumentBytes, sendDocument } from '../../http/server/document-bytes.ts';
import { once } from '../../lib/concurrency/once.ts';
import type { BundledFile } from './bundle-page.ts';

/** Loads the page's files, by the name under which they are requested: about 100 KB compressed. A failed load is tried again. */
export type LoadPageFiles = () => Promise<ReadonlyMap<string, PageFile>>;

export interface PageFile {
  readonly plain: DocumentBytes;
  readonly gzip: DocumentBytes;
}

/** The bundle that the package and the image hold (`scripts/bundle-page.ts`); a checkout has none, and bundles at run time. */
const BUNDLE = join(import.meta.dirname, '../bundle');
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
};

/** @param read returns all files, uncompressed */
export function createPageFiles(read: () => Promise<readonly BundledFile[]> = readPage): LoadPageFiles {
  return once(async () => {
    const files = await read();
    return new Map(
      await Promise.all(files.map(async ({ name, bytes }) => [name, await compressed(name, bytes)] as const)),
    );
  });
}

async function readPage(): Promise<readonly BundledFile[]> {
  if (!existsSync(BUNDLE)) return (await import('./bundle-page.ts')).bundlePage();
  const names = await readdir(BUNDLE);
  return Promise.all(names.map(async (name) => ({ name, bytes: await readFile(join(BUNDLE, name)) })));
}

async function compressed(name: string, bytes: Uint8Array): Promise<PageFile> {
  const contentType = CONTENT_TYPES[extname(name)] ?? 'application/octet-stream';
  const packed = await promisify(gzip)(bytes, { level: 9 });
  return { plain: createDocumentBytes(bytes, contentType), gzip: createDocumentBytes(packed, contentType) };
}

/** Sends the compressed bytes to clients that accept gzip, as browsers do. */
export function sendPageFile(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  const vary = reply.getHeader('vary'); // by origin, if origins are listed
  reply.header('vary', vary === undefined ? 'Accept-Encoding' : `${String(vary)}, Accept-Encoding`);
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$|\s))/.test(String(request.headers['accept-encoding'] ?? ''));
  if (!takesGzip) return sendDocument(request, reply, file.plain);
  return sendDocument(request, reply.header('content-encoding', 'gzip'), file.gzip);
}
