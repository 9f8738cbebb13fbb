import type { Clock } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded } from '../../lib/concurrency/deadline.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import { StoreError } from '../../store/local/sqlite.ts';
import { LogThrottle } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { BlocksGone } from '../blocks/absent-blocks.ts';
import { ChainContradiction, NotYet } from '../blocks/block-reading.ts';
import type { ChainProblemKind } from '../feed-message.ts';

/** A lone failure, or a node that is a block behind, is no problem yet. */
const PROBLEM_AFTER_MS = 15_000;
/** A cause that comes and goes is logged once in this time. */
const LOG_LIMIT = { burst: 1, intervalMs: 600_000 };

export type ChainProblem = ReturnType<typeof createChainProblem>;

/** Creates the state that tells why a chain is not read on. */
export function createChainProblem({
  chainID,
  clock,
  logger,
}: {
  readonly chainID: BlockchainID;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
}) {
  const throttle = new LogThrottle(clock, LOG_LIMIT);
  let failingSinceMs: number | undefined;
  let problem: { readonly reason: string; readonly kind: ChainProblemKind; readonly isStopped: boolean } | undefined;
  let isLogged = false;

  function log(level: 'warn' | 'error', text: string, reason: string, error?: unknown): void {
    const omitted = throttle.take(text);
    if (omitted === undefined) return;
    isLogged = true;
    logger[level]({ chainId: chainID, reason, err: error, ...(omitted > 0 && { omitted }) }, text);
  }

  return {
    get reason(): string | undefined {
      return problem?.reason;
    },
    get kind(): ChainProblemKind | undefined {
      return problem?.kind;
    },
    get isStopped(): boolean {
      return problem?.isStopped === true;
    },
    /** A failure that may pass: it is a problem after some time. */
    note(reason: string, error: unknown): void {
      const nowMs = clock.monotonicMs();
      failingSinceMs ??= nowMs;
      if (nowMs - failingSinceMs < PROBLEM_AFTER_MS) return;
      if (problem === undefined) log('warn', 'the feed cannot read a chain', reason, error);
      problem = { reason, kind: kindOf(error), isStopped: false };
    },
    /** An operator has to do something, or a bug has to be mended. */
    stop(reason: string, error: unknown, text = 'the feed has stopped a chain'): void {
      if (problem?.reason !== reason) log('error', text, reason, error);
      problem = { reason, kind: kindOf(error), isStopped: true };
    },
    /** Endpoints that have different blocks are no problem that ends by itself: the operator has to remove one. */
    warnOfEndpoint(index: number, { message }: Error): void {
      const text = 'an endpoint has other blocks than those that were read from another one';
      if (throttle.take(text) === undefined) return;
      logger.warn({ chainId: chainID, endpoint: index, reason: message }, text);
    },
    clear(): void {
      failingSinceMs = undefined;
      if (problem === undefined) return;
      problem = undefined;
      if (isLogged) logger.info({ chainId: chainID }, 'the feed reads the chain again');
      isLogged = false;
    },
  };
}

function kindOf(error: unknown): ChainProblemKind {
  if (error instanceof NotYet) return 'rpc_behind';
  if (error instanceof ChainContradiction) return 'rpc_contradicts';
  if (error instanceof BlocksGone) return 'blocks_missing';
  if (error instanceof StoreError) return 'store_failing';
  return error instanceof ApiError || error instanceof DeadlineExceeded ? 'rpc_failing' : 'bug';
}
