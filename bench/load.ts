import type { RequestKind } from './load-requests.ts';
import { startProcess } from './processes.ts';

export const AGGREGATION_PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';

/** Bodies in pieces of one byte, each a chunk or a TCP segment, and long bodies that do not end. */
export type BodyKind = keyof typeof BODY_KINDS;

export const BODY_KINDS = {
  'one-byte-chunks': { path: '/ext/bc/P', bytes: 98_000, pieces: 'chunks' },
  'long-one-byte-chunks': { path: AGGREGATION_PATH, bytes: 577_000, pieces: 'chunks' },
  'one-byte-segments': { path: '/ext/bc/P', bytes: 98_000, pieces: 'segments' },
  'unfinished-bodies': { path: '/ext/bc/P', bytes: 100_000, pieces: 'none' },
} as const;

export interface LoadJob {
  readonly url: string;
  /** Where new messages come from. */
  readonly devnetUrl: string;
  /** `unread` pipelines long documents and reads none; `half-sent` begins requests and does not end them. */
  readonly kind: RequestKind | BodyKind | 'unread' | 'half-sent';
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second, whatever comes back: an open loop. Without it each connection waits for its answer: a closed loop. */
  readonly perSecond?: number;
}

/** How many there were, and how long they took. */
export interface Answers {
  readonly count: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

export interface LoadResult {
  /** Unix time in milliseconds. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** 201. */
  readonly signed: Answers;
  /** 503 `overloaded` or 429: refused before any work. */
  readonly refused: Answers;
  /** All else, as what is wrong with a message. */
  readonly other: Answers;
  readonly errors: number;
  /** Due in an open loop, but more than could be under way. */
  readonly unsent: number;
  readonly statuses: Readonly<Record<string, number>>;
}

/** Has a process of its own do the job, so that it takes no time of whoever measures beside it. */
export async function generateLoad(job: LoadJob): Promise<LoadResult> {
  await using generator = await startProcess(['bench/load-generator.ts', JSON.stringify(job)]);
  return generator.announced as unknown as LoadResult;
}
