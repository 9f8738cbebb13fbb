import { JSON_TYPE } from '../../http/request/json-type.ts';
import { createDocumentBytes, type DocumentBytes } from '../../http/server/document-bytes.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { ActivityBody } from './activity-record.ts';

/** The page asks each few seconds, and its charts have points of ten. */
const FRESH_MS = 1_000;

/**
 * The activity in bytes, made at most once a second: it is free and open to everybody, and with the histories of 64 subnets it has
 * 0.9 MB, which take some 5 ms to make.
 */
export function createActivityDocument(read: () => Promise<ActivityBody>, clock: Clock): () => Promise<DocumentBytes> {
  let last: { readonly madeMs: number; readonly document: Promise<DocumentBytes> } | undefined;

  async function make(): Promise<DocumentBytes> {
    try {
      return createDocumentBytes(JSON.stringify(await read()), JSON_TYPE);
    } catch (error) {
      // Whoever asks next tries again.
      last = undefined;
      throw error;
    }
  }
  return () => {
    const nowMs = clock.monotonicMs();
    if (last === undefined || nowMs - last.madeMs >= FRESH_MS) last = { madeMs: nowMs, document: make() };
    return last.document;
  };
}
