import { DEVNET_L1 } from '../src/config/schema/network-schema.ts';
import { AGGREGATION_PATH } from './client.ts';
import type { RequestKind } from './load-requests.ts';
import { startProcess } from './processes.ts';

/** Bodies in pieces of one byte, each a chunk or a TCP segment, and long bodies that do not end. The short ones fit into one read. */
export type BodyKind = keyof typeof BODY_KINDS;

export const BODY_KINDS = {
  'one-byte-chunks': { path: '/ext/bc/P', bytes: 98_000, pieces: 'chunks' },
  'long-one-byte-chunks': { path: AGGREGATION_PATH, bytes: 577_000, pieces: 'chunks' },
  'one-byte-segments': { path: '/ext/bc/P', bytes: 98_000, pieces: 'segments' },
  'unfinished-bodies': { path: '/ext/bc/P', bytes: 100_000, pieces: 'none' },
  'short-one-byte-chunks': { path: AGGREGATION_PATH, bytes: 10_800, pieces: 'chunks' },
  'crowd-in-pieces': { path: AGGREGATION_PATH, bytes: 10_800, pieces: 'chunks' },
  'chunks-to-nowhere': { path: '/nowhere', bytes: 10_800, pieces: 'chunks' },
} as const;

/** The chain whose RPC is hostile. */
export const HOSTILE_CHAIN = DEVNET_L1;

export interface LoadJob {
  readonly url: string;
  /** Devnet that emits new messages. */
  readonly devnetUrl: string;
  /**
   * `unread` pipelines long documents and reads none; `half-sent` begins requests and does not end them; `reconnecting` sends one request over
   * each connection; `crowd` sends refused messages from 200 addresses, all at once, `crowd-in-pieces` bodies of one-byte chunks, and
   * `slow-streams` reads a byte a second of streams of events; `receipts` asks for transactions of the chain whose RPC is hostile;
   * `validators` has six of them flood the service.
   */
  readonly kind:
    | RequestKind
    | BodyKind
    | 'unread'
    | 'half-sent'
    | 'reconnecting'
    | 'crowd'
    | 'slow-streams'
    | 'receipts'
    | 'validators';
  readonly connections: number;
  readonly seconds: number;
  /** Rate of an open loop; without it each connection waits for its answer (closed loop). */
  readonly perSecond?: number;
}

export interface Answers {
  readonly count: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export interface LoadResult {
  /** Unix time in milliseconds. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** Status 201. */
  readonly signed: Answers;
  /** 503 `overloaded` or 429: rejected before any work. */
  readonly refused: Answers;
  /** All other answers, such as errors of a message. */
  readonly other: Answers;
  readonly errors: number;
  /** Due in an open loop, but above the limit of outstanding requests. */
  readonly unsent: number;
}

/** Runs the job in a separate process, so that it does not delay the caller's measurements. */
export async function generateLoad(job: LoadJob): Promise<LoadResult> {
  await using generator = await startProcess(['bench/load-generator.ts', JSON.stringify(job)]);
  return generator.announced as unknown as LoadResult;
}
