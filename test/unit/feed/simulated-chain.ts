import type { BlockSource } from '../../../src/feed/blocks/block-source.ts';
import { type Clock, sleep } from '../../../src/lib/concurrency/clock.ts';
import type { EvmBlock, LoggedMessage } from '../../../src/pchain/codec/evm-block.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import type { BlockchainID } from '../../../src/warp/ids.ts';
import { CHAIN, emitted, OTHER_CHAIN } from './emitted.ts';

/**
 * How a node of a simulated chain misbehaves. `alternates`: one answer in two is that of a node that lags; `breaks`: the code that reads its
 * answers has a bug; `invents`: it has blocks that nobody made; `forgets`: it has no old blocks; `garbles`: its answers have another form.
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
  | 'contradicts'
  | 'invents'
  | 'forgets'
  | 'garbles';

/** What a node leaves out of its answers, for good, and without an error. */
export type Omission = 'none' | 'logs of ranges' | 'receipts';

/** Blocks that a lagging node is behind. */
const LAG = 3;
/** Blocks that a node invents. */
const INVENTED = 200;
/** Blocks that a node without old blocks has. */
const KEPT = 5;
/** One block in so many has messages that a node leaves out. */
const OMITTED_EVERY = 3;

/** A chain whose blocks are accepted first and executed later, and a node that misbehaves on demand. */
export class SimulatedChain {
  /** Of its nodes. */
  readonly faults: Fault[] = ['none', 'none'];
  /** Of its first node. */
  omission: Omission = 'none';
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

  /** Of its first node. */
  get fault(): Fault {
    return this.faults[0] ?? 'none';
  }

  set fault(fault: Fault) {
    this.faults[0] = fault;
  }

  get height(): number {
    return this.#blocks.length - 1;
  }

  /** The hash of a block; undefined beyond the height. */
  hashAt(number: number): string | undefined {
    return this.#blocks[number]?.hash;
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

  /** Returns a node of the chain. @param clock of the process that asks */
  node(clock: Clock = this.#clock, index = 0): BlockSource {
    const fault = (): Fault => this.faults[index] ?? 'none';
    const omission = (): Omission => (index === 0 ? this.omission : 'none');
    const answered = async <Answer>(signal: AbortSignal, answer: () => Answer): Promise<Answer> => {
      await sleep(clock, this.latencyMs / 2, signal);
      await this.#misbehave(fault(), signal);
      const found = answer();
      await sleep(clock, this.latencyMs / 2, signal);
      return found;
    };
    const messagesOf = (block: EvmBlock, isOmitted: boolean): readonly LoggedMessage[] | undefined => {
      if (block.txHashes.length > 0 && block.number > this.#lastExecuted(fault())) return undefined;
      return this.messages.filter(({ blockHash }) => blockHash === block.hash && !(isOmitted && isOmittedBlock(block)));
    };
    return {
      chainID: (signal) =>
        answered(signal, () => {
          if (fault() !== 'other chain' && fault() !== 'other ID') return this.chainID;
          return this.chainID === CHAIN ? OTHER_CHAIN : CHAIN;
        }),
      headBlock: (signal) => answered(signal, () => this.#head(fault()) + (fault() === 'invents' ? INVENTED : 0)),
      block: (number, signal) => answered(signal, () => this.#block(number, fault())),
      receiptsOf: (block, signal) => answered(signal, () => messagesOf(block, omission() === 'receipts')),
      logsOf: (block, signal) => answered(signal, () => messagesOf(block, false)),
      logsIn: (first, last, signal) =>
        answered(signal, () => {
          const logs = this.#logsIn(first, last, fault());
          if (omission() !== 'logs of ranges') return logs;
          return logs?.filter(({ blockNumber }) => !isOmittedBlock({ number: blockNumber }));
        }),
    };
  }

  #block(number: number, fault: Fault): EvmBlock | undefined {
    if (fault === 'forgets' && number < this.height - KEPT) return undefined;
    if (fault === 'invents' && number > this.height) return invented(number, this.height, this.#clock.now());
    const block = number <= this.#head(fault) ? this.#blocks[number] : undefined;
    if (block === undefined || (fault !== 'other chain' && fault !== 'contradicts')) return block;
    return { ...block, hash: hashOf('e', number), parentHash: hashOf('e', number - 1), txHashes: [] };
  }

  #logsIn(first: number, { number: last, txHashes }: EvmBlock, fault: Fault): readonly LoggedMessage[] | undefined {
    if (last - first >= this.maxRange) throw new ApiError('rejected', 'the range is too long');
    const executed = this.#lastExecuted(fault);
    if (!this.#isKnown(txHashes[0]) || last > executed) return undefined;
    // Blocks that are not executed have no logs, without an error.
    return this.messages.filter(({ blockNumber }) => blockNumber >= first && blockNumber <= Math.min(last, executed));
  }

  #isKnown(txHash: string | undefined): boolean {
    return this.#blocks.some(({ txHashes }) => txHash !== undefined && txHashes.includes(txHash));
  }

  #head(fault: Fault): number {
    const isBehind = fault === 'lags' || (fault === 'alternates' && this.#answers % 2 === 0);
    return Math.max(0, isBehind ? this.height - LAG : this.height);
  }

  #lastExecuted(fault: Fault): number {
    return Math.min(this.#head(fault), this.#executed);
  }

  async #misbehave(fault: Fault, signal: AbortSignal): Promise<void> {
    this.#answers += 1;
    if (fault === 'down') throw new ApiError('unavailable', 'connection refused');
    if (fault === 'garbles') throw new ApiError('invalid_response', 'logs have one of a block that is not asked for');
    if (fault === 'breaks') throw new RangeError('an answer that the code did not foresee');
    if (fault !== 'hangs') return;
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
}

function isOmittedBlock({ number }: Pick<EvmBlock, 'number'>): boolean {
  return number % OMITTED_EVERY === 1;
}

/** A block that nobody made, on top of the last block of the chain. */
function invented(number: number, height: number, timeMs: number): EvmBlock {
  const parentHash = number === height + 1 ? hashOf('b', height) : hashOf('f', number - 1);
  return { number, hash: hashOf('f', number), parentHash, timeMs, txHashes: [] };
}

function hashOf(kind: string, number: number): string {
  return `0x${kind}${String(number).padStart(64 - kind.length, '0')}`;
}
