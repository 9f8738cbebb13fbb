import type { BlockSource } from '../../../src/feed/chains/block-source.ts';
import { type Clock, sleep } from '../../../src/lib/concurrency/clock.ts';
import type { EvmBlock, LoggedMessage } from '../../../src/pchain/codec/evm-block.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import type { BlockchainID } from '../../../src/warp/ids.ts';
import { CHAIN, emitted, OTHER_CHAIN } from './emitted.ts';

/**
 * How the node of a simulated chain misbehaves. `alternates`: one answer in two is that of a node that lags; `breaks`: the code that reads its
 * answers has a bug.
 */
export type Fault =
  | 'none'
  | 'down'
  | 'hangs'
  | 'lags'
  | 'alternates'
  | 'breaks'
  | 'other chain'
  | 'other ID'
  | 'contradicts';

/** Blocks that a lagging node is behind. */
const LAG = 3;

/** A chain whose blocks are accepted first and executed later, and a node that misbehaves on demand. */
export class SimulatedChain {
  fault: Fault = 'none';
  readonly chainID: BlockchainID;
  readonly messages: LoggedMessage[] = [];
  readonly #clock: Clock;
  readonly #blocks: EvmBlock[] = [];
  #executed = 0;
  #answers = 0;
  /** Highest number of blocks that one call of `logsIn` may have. */
  maxRange = 2_000;
  /** Time of a call, half of it before the node answers. */
  latencyMs = 1;

  constructor(clock: Clock, chainID = CHAIN) {
    this.#clock = clock;
    this.chainID = chainID;
    this.accept(0);
    this.execute();
  }

  get height(): number {
    return this.#blocks.length - 1;
  }

  /** Accepts a block with this number of transactions, each of which emits a message if `emits`. */
  accept(transactions: number, emits = true): void {
    const number = this.#blocks.length;
    const txHashes = Array.from({ length: transactions }, (_, index) => hashOf(`c${index}`, number));
    const parentHash = number === 0 ? hashOf('d', 0) : hashOf('b', number - 1);
    this.#blocks.push({ number, hash: hashOf('b', number), parentHash, timeMs: this.#clock.now(), txHashes });
    if (!emits) return;
    for (const [logIndex, txHash] of txHashes.entries()) {
      const { message, sender } = emitted(number, logIndex, { chainID: this.chainID });
      this.messages.push({ logIndex, message, sender, txHash, blockHash: hashOf('b', number), blockNumber: number });
    }
  }

  /** Executes all accepted blocks, or the next ones. */
  execute(count = Number.POSITIVE_INFINITY): void {
    this.#executed = Math.min(this.height, this.#executed + count);
  }

  /** Returns the node of the chain. @param clock of the process that asks */
  node(clock: Clock = this.#clock): BlockSource {
    const answered = async <Answer>(signal: AbortSignal, answer: () => Answer): Promise<Answer> => {
      await sleep(clock, this.latencyMs / 2, signal);
      await this.#misbehave(signal);
      const found = answer();
      await sleep(clock, this.latencyMs / 2, signal);
      return found;
    };
    return {
      chainID: (signal) =>
        answered(signal, () => {
          if (this.fault !== 'other chain' && this.fault !== 'other ID') return this.chainID;
          return this.chainID === CHAIN ? OTHER_CHAIN : CHAIN;
        }),
      headBlock: (signal) => answered(signal, () => this.#head()),
      block: (number, signal) => answered(signal, () => this.#block(number)),
      receiptsOf: (block, signal) => answered(signal, () => this.#messagesOf(block)),
      logsOf: (block, signal) => answered(signal, () => this.#messagesOf(block)),
      logsIn: (first, last, signal) => answered(signal, () => this.#logsIn(first, last)),
    };
  }

  #block(number: number): EvmBlock | undefined {
    const block = number <= this.#head() ? this.#blocks[number] : undefined;
    if (block === undefined || (this.fault !== 'other chain' && this.fault !== 'contradicts')) return block;
    return { ...block, hash: hashOf('e', number), parentHash: hashOf('e', number - 1), txHashes: [] };
  }

  #messagesOf(block: EvmBlock): readonly LoggedMessage[] | undefined {
    if (block.txHashes.length > 0 && block.number > this.#lastExecuted()) return undefined;
    return this.messages.filter(({ blockHash }) => blockHash === block.hash);
  }

  #logsIn(first: number, { number: last, txHashes }: EvmBlock): readonly LoggedMessage[] | undefined {
    if (last - first >= this.maxRange) throw new ApiError('rejected', 'the range is too long');
    const executed = this.#lastExecuted();
    if (!this.#isKnown(txHashes[0]) || last > executed) return undefined;
    // Blocks that are not executed have no logs, without an error.
    return this.messages.filter(({ blockNumber }) => blockNumber >= first && blockNumber <= Math.min(last, executed));
  }

  #isKnown(txHash: string | undefined): boolean {
    return this.#blocks.some(({ txHashes }) => txHash !== undefined && txHashes.includes(txHash));
  }

  #head(): number {
    const isBehind = this.fault === 'lags' || (this.fault === 'alternates' && this.#answers % 2 === 0);
    return Math.max(0, isBehind ? this.height - LAG : this.height);
  }

  #lastExecuted(): number {
    return Math.min(this.#head(), this.#executed);
  }

  async #misbehave(signal: AbortSignal): Promise<void> {
    this.#answers += 1;
    if (this.fault === 'down') throw new ApiError('unavailable', 'connection refused');
    if (this.fault === 'breaks') throw new RangeError('an answer that the code did not foresee');
    if (this.fault !== 'hangs') return;
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
}

function hashOf(kind: string, number: number): string {
  return `0x${kind}${String(number).padStart(64 - kind.length, '0')}`;
}
