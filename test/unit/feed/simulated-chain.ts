import type { BlockSource } from '../../../src/feed/block-source.ts';
import { type Clock, sleep } from '../../../src/lib/concurrency/clock.ts';
import type { EvmBlock, LoggedMessage } from '../../../src/pchain/codec/evm-block.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { emitted } from './emitted.ts';

/** How the node of a simulated chain misbehaves. */
export type Fault = 'none' | 'down' | 'hangs' | 'lags' | 'other chain' | 'other ID' | 'contradicts';

const EVM_CHAIN_ID = '0xa868';
const LATENCY_MS = 1;
/** Blocks that a lagging node is behind. */
const LAG = 3;

/** A chain whose blocks are accepted first and executed later, and a node that misbehaves on demand. */
export class SimulatedChain implements BlockSource {
  fault: Fault = 'none';
  readonly messages: LoggedMessage[] = [];
  readonly #clock: Clock;
  readonly #blocks: EvmBlock[] = [];
  #executed = 0;
  /** Highest number of blocks that one call of `messagesIn` may have. */
  maxRange = 2_000;

  constructor(clock: Clock) {
    this.#clock = clock;
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
      const { message, sender } = emitted(number, logIndex);
      this.messages.push({ logIndex, message, sender, txHash, blockHash: hashOf('b', number), blockNumber: number });
    }
  }

  /** Executes all accepted blocks, or the next ones. */
  execute(count = Number.POSITIVE_INFINITY): void {
    this.#executed = Math.min(this.height, this.#executed + count);
  }

  async evmChainID(signal: AbortSignal): Promise<string> {
    await this.#answer(signal);
    return ['other chain', 'other ID'].includes(this.fault) ? '0x1' : EVM_CHAIN_ID;
  }

  async headBlock(signal: AbortSignal): Promise<number> {
    await this.#answer(signal);
    return this.#head();
  }

  async block(number: number, signal: AbortSignal): Promise<EvmBlock | undefined> {
    await this.#answer(signal);
    const block = number <= this.#head() ? this.#blocks[number] : undefined;
    if (block === undefined || (this.fault !== 'other chain' && this.fault !== 'contradicts')) return block;
    return { ...block, hash: hashOf('e', number), parentHash: hashOf('e', number - 1), txHashes: [] };
  }

  async messagesOf(block: EvmBlock, signal: AbortSignal): Promise<readonly LoggedMessage[] | undefined> {
    await this.#answer(signal);
    if (block.txHashes.length > 0 && block.number > this.#lastExecuted()) return undefined;
    return this.messages.filter(({ blockHash }) => blockHash === block.hash);
  }

  async messagesIn(first: number, last: number, laterTx: string, signal: AbortSignal) {
    await this.#answer(signal);
    if (last - first >= this.maxRange) throw new ApiError('rejected', 'the range is too long');
    const proof = this.#blocks.find(({ txHashes }) => txHashes.includes(laterTx));
    if (proof === undefined || proof.number > this.#lastExecuted()) return undefined;
    return this.messages.filter(
      ({ blockNumber }) => blockNumber >= first && blockNumber <= Math.min(last, this.#lastExecuted()),
    );
  }

  #head(): number {
    return Math.max(0, this.fault === 'lags' ? this.height - LAG : this.height);
  }

  #lastExecuted(): number {
    return Math.min(this.#head(), this.#executed);
  }

  async #answer(signal: AbortSignal): Promise<void> {
    await sleep(this.#clock, LATENCY_MS, signal);
    if (this.fault === 'down') throw new ApiError('unavailable', 'connection refused');
    if (this.fault !== 'hangs') return;
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
}

function hashOf(kind: string, number: number): string {
  return `0x${kind}${String(number).padStart(64 - kind.length, '0')}`;
}
