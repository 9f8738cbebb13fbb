import { fork } from 'node:child_process';
import { extname } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createDocumentBytes, type DocumentBytes, sendDocument } from '../api/document-bytes.ts';
import { once } from '../primitives/once.ts';
import type { BuiltFile } from './build-page-files.ts';

/** What the page consists of, made once: some 40 files, 100 KB compressed and 400 KB not. */
export interface PageFiles {
  /** Has them made, if nobody has asked for one yet. @throws where they cannot be made, which is tried again when one is asked for */
  make(): Promise<void>;
  /** Undefined where there is no such file. */
  file(name: string): Promise<PageFile | undefined>;
}

export interface PageFile {
  readonly plain: DocumentBytes;
  readonly gzip: DocumentBytes;
}

export function createPageFiles(build: () => Promise<readonly BuiltFile[]> = buildInProcess): PageFiles {
  const load = once(async (): Promise<ReadonlyMap<string, PageFile>> => {
    const built = await build();
    return new Map(
      built.map(({ name, contentType, bytes, gzip }) => [
        name,
        { plain: createDocumentBytes(bytes, contentType), gzip: createDocumentBytes(gzip, contentType) },
      ]),
    );
  });
  return {
    async make() {
      await load();
    },
    file: async (name) => (await load()).get(name),
  };
}

/** Compressed for all who take it, which browsers do. */
export function sendPageFile(request: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  const vary = reply.getHeader('vary'); // by origin, where origins are listed
  reply.header('vary', vary === undefined ? 'Accept-Encoding' : `${String(vary)}, Accept-Encoding`);
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$|\s))/.test(String(request.headers['accept-encoding'] ?? ''));
  if (!takesGzip) return sendDocument(request, reply, file.plain);
  return sendDocument(request, reply.header('content-encoding', 'gzip'), file.gzip);
}

/** It takes half a second. Whoever waits for one that hangs learns of it. */
const MAX_BUILD_MS = 30_000;

/**
 * In a process of its own, as a thread would leave 20 MB with this one. `--disable-warning`: that the stripping of types is experimental in
 * Node 24 would stand in the log as a line that is no JSON.
 */
function buildInProcess(): Promise<readonly BuiltFile[]> {
  const program = new URL(`build-page-files${extname(import.meta.filename)}`, import.meta.url);
  return new Promise((resolve, reject) => {
    const child = fork(program, {
      ...{ serialization: 'advanced', execArgv: ['--disable-warning=ExperimentalWarning'] },
      ...{ timeout: MAX_BUILD_MS, killSignal: 'SIGKILL' },
    });
    // The service may stop meanwhile.
    child.unref();
    child.channel?.unref();
    child.once('message', (files) => resolve(files as unknown as readonly BuiltFile[]));
    child.once('error', reject);
    child.once('disconnect', () =>
      reject(new Error('the process that makes the files of the console ended without them')),
    );
  });
}
