import { DeadlineExceeded } from '../../lib/concurrency/deadline.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import { BlocksGone, explainAbsence } from '../blocks/absent-blocks.ts';
import { ChainContradiction, NotYet, readByHash } from '../blocks/block-reading.ts';
import { type BlockCalls, createBlockCalls } from '../blocks/block-source.ts';
import { requireChain, requirePosition } from '../blocks/chain-checks.ts';
import type { Checkpoint, EmittedMessage } from '../feed-message.ts';
import { createChainProblem } from './chain-problem.ts';
import type { ChainReaderOptions } from './chain-reader-options.ts';
import { emittedFrom } from './emitted-messages.ts';
import { type ChosenEndpoint, createEndpointChoice } from './endpoint-choice.ts';
import { createNextBlocks, NEWEST_BLOCKS } from './next-blocks.ts';
import { createRetries } from './reading-retries.ts';
import { openStart } from './reading-start.ts';
import { createStrandedPosition, Stranded } from './stranded-position.ts';

/** Time between checks that the RPC still has the chain that was read, which a new block also shows by its parent. */
const VERIFY_MS = 60_000;

export type ChainReader = ReturnType<typeof createChainReader>;

/**
 * Reads a chain from its checkpoint on, so that no block is skipped. Each step reads from one endpoint; after a failure the next step asks the
 * next one.
 */
export function createChainReader(options: ChainReaderOptions) {
  const { chainID, clock } = options;
  const choice = createEndpointChoice(
    options.sources.map((source) => createBlockCalls(source, clock)),
    clock,
  );
  const problem = createChainProblem(options);
  const start = openStart(options);
  const retries = createRetries(clock, choice, problem);
  const readNext = createNextBlocks({ ...options, problem, onAppend: () => retries.restartWaits() });
  const stranded = createStrandedPosition(options);
  let head: number | undefined;
  let verifiedMs = Number.NEGATIVE_INFINITY;

  /** Reads what is next; returns whether that was all. */
  async function step(endpoint: ChosenEndpoint, signal: AbortSignal): Promise<boolean> {
    const { calls } = endpoint;
    // After the wake-up was taken, so that a head that is reported now ends the next wait.
    head = await calls.headBlock(signal);
    const { position, isNew } = await start(calls, head, signal);
    if (!isNew) await verifyWhenDue(calls, position, signal);
    const gap = head - position.blockNumber;
    if (gap < 0) throw new Stranded(`its node is at block ${head}, ${-gap} before the last one read`);
    if (gap > 0) await readNext(endpoint, position, head, signal);
    return gap === 0;
  }

  /** @throws {ChainContradiction} */
  async function verifyWhenDue(calls: BlockCalls, position: Checkpoint, signal: AbortSignal): Promise<void> {
    if (clock.monotonicMs() - verifiedMs < VERIFY_MS) return;
    await requireChain(calls, chainID, signal);
    await requirePosition(calls, position, signal);
    verifiedMs = clock.monotonicMs();
  }

  /** Returns what a failure means: a block that the node does not have yet, or never. */
  async function explained(error: unknown, calls: BlockCalls, signal: AbortSignal): Promise<unknown> {
    const isOld = error instanceof NotYet && error.missingBlock <= (head ?? 0) - NEWEST_BLOCKS;
    if (!isOld) return error;
    try {
      return await explainAbsence(calls, error.missingBlock, head ?? 0, signal);
    } catch (cause) {
      signal.throwIfAborted();
      return cause;
    }
  }

  async function giveUp(error: unknown, calls: BlockCalls, signal: AbortSignal): Promise<void> {
    try {
      if (await stranded.giveUp(error, calls, head, signal)) verifiedMs = Number.NEGATIVE_INFINITY;
    } catch (cause) {
      signal.throwIfAborted();
      problem.note(String(cause), cause);
    }
  }

  return {
    /** Reads the next blocks. @returns the milliseconds to wait, unless a head is reported before; at most `idleMs` on a quiet chain */
    async read(idleMs: number, signal: AbortSignal): Promise<number> {
      choice.compareWhenDue(signal);
      const endpoint = choice.current;
      try {
        const isAll = await step(endpoint, signal);
        problem.clear();
        stranded.clear();
        retries.succeed();
        return isAll ? idleMs : 0;
      } catch (error) {
        signal.throwIfAborted();
        await giveUp(error, endpoint.calls, signal);
        const reason = await explained(error, endpoint.calls, signal);
        if (reason instanceof ChainContradiction || reason instanceof BlocksGone) verifiedMs = Number.NEGATIVE_INFINITY;
        return retries.fail(reason);
      }
    },
    /** Reads blocks up to the watermark again, the last one included. */
    async readAgain(first: number, last: number, signal: AbortSignal): Promise<readonly EmittedMessage[]> {
      const found: EmittedMessage[] = [];
      try {
        for await (const { messages } of readByHash(choice.current.calls, first, last, signal)) {
          found.push(...emittedFrom(messages, options));
        }
      } catch (error) {
        if (!(error instanceof NotYet) && !(error instanceof DeadlineExceeded)) throw error;
        throw new ApiError('unavailable', error.message, { cause: error });
      }
      return found;
    },
    status: () => ({
      headBlock: head,
      problem: problem.reason,
      problemKind: problem.kind,
      isStopped: problem.isStopped,
    }),
  };
}
