import { pino } from 'pino';
import { Registry } from 'prom-client';
import { AggregatorError, type AggregatorErrorCode } from '../../src/aggregation/aggregator-error.ts';
import type { Aggregator } from '../../src/aggregation/stages/aggregator.ts';
import { type FeedService, openFeed } from '../../src/feed/feed.ts';
import type { EmittedMessage, MessagePosition } from '../../src/feed/feed-message.ts';
import { endOfBlock } from '../../src/feed/feed-message.ts';
import { type BlockBatch, type MessageStore, openMessageStore } from '../../src/feed/message-store.ts';
import { sleep } from '../../src/lib/concurrency/clock.ts';
import { ApiError } from '../../src/pchain/rpc/api-error.ts';
import { StoreError } from '../../src/store/local/sqlite.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { BlockchainID } from '../../src/warp/ids.ts';
import { type ClockView, VirtualTime } from '../support/fake-clock.ts';
import { CHAIN, OTHER_CHAIN, SIGNED_RESULT } from '../unit/feed/emitted.ts';
import { type Fault, type Omission, SimulatedChain } from '../unit/feed/simulated-chain.ts';
import { SimulatedSocket } from '../unit/feed/simulated-socket.ts';
import { Draws } from './draws.ts';
import { FeedClient, type FeedClientOptions, keyOf } from './feed-client.ts';

/**
 * The feed of a network in virtual time. Nodes lag, hang, alternate, contradict themselves, invent blocks, have no old ones, and answer for another
 * chain or in another form; one leaves out messages for good; heads are reported out of order, twice or never; the process ends between any two steps
 * and within a write; the disk is full; a start has a wrong clock; messages are not signed for a while, or never; clients leave and resume. At the end
 * all faults are over but those that the feed has to live with, and nothing may be missing, late, or not confirmed.
 */

const STEPS = 30;
/** Besides contradictions, which show only on chains that were read before. */
const FAULTS: readonly Fault[] = ['down', 'hangs', 'lags', 'alternates', 'other chain', 'forgets', 'garbles'];
/** Faults of one of two nodes that never end. */
const LASTING_FAULTS: readonly Fault[] = [...FAULTS, 'contradicts', 'none', 'none'];
const OMISSIONS: readonly Omission[] = ['none', 'logs of ranges', 'receipts'];
const REFUSALS = ['overloaded', 'network_unavailable', 'not_connected'] as const satisfies AggregatorErrorCode[];
const EVENTS = {
  block: 5,
  'silent block': 2,
  'many blocks': 1,
  'execute some': 2,
  execute: 3,
  fault: 3,
  'end fault': 2,
  'short ranges': 1,
  heads: 4,
  'close sockets': 1,
  'silent sockets': 1,
  'half-open sockets': 1,
  crash: 1,
  'crash while writing': 2,
  'disk is full': 1,
  'end of a full disk': 2,
  'client resumes': 3,
  'client begins anew': 1,
  refusals: 1,
  'end refusals': 2,
} as const;
/**
 * Sockets are opened again within 30 s, stopped chains read again after 30 s, and messages signed again after at most some minutes. False positions are
 * given up after five minutes, and blocks confirmed after three, of which the last ones are read eight a second.
 */
const RECOVERY_MS = { min: 60_000, max: 1_800_000 };
/** Chance of a start with a clock that is ahead. */
const WRONG_CLOCK = 0.1;
const AHEAD_MS = 30 * 24 * 3_600_000;
/** Longest time until polling finds a block. */
const POLL_MS = 500;
/** Time from the report of a head until its messages are delivered as signed, when all is well. */
const PROMPT_MS = 400;
const PROMPT_ROUNDS = 8;
const ALL = { sourceChainID: undefined, sender: undefined, destinationChainID: undefined, status: undefined };

export interface FeedRun {
  readonly violations: readonly string[];
  /** What has occurred: what does not occur is not tested. */
  readonly occurred: ReadonlySet<string>;
  /** Equal for equal runs. */
  readonly digest: string;
}

export async function runFeed(seed: number): Promise<FeedRun> {
  return await new FeedWorld(new Draws(`feed ${seed}`)).run();
}

/** One life of the service. Nothing of it happens after its end: its clock stands still, and its writes are lost. */
interface Process {
  readonly clock: ClockView;
  readonly feed: FeedService;
  readonly sockets: SimulatedSocket[];
  readonly end: () => void;
}

class FeedWorld {
  readonly #draws: Draws;
  readonly #time = new VirtualTime();
  readonly #clock = this.#time.view();
  readonly #disk: MessageStore = openMessageStore({ directory: undefined, networkID: 1 });
  readonly #chains = [CHAIN, OTHER_CHAIN].map((chainID) => new SimulatedChain(this.#clock, chainID));
  readonly #clients: readonly FeedClient[];
  readonly #violations = new Set<string>();
  readonly #occurred = new Set<string>();
  /** When messages can be signed, in monotonic milliseconds; infinity for never. */
  readonly #signableMs = new Map<string, number>();
  #refusal: (typeof REFUSALS)[number] | undefined;
  #isFull = false;
  /** Whether the process ends within its next write of messages. */
  #endsWriting = false;
  #isCalm = false;
  #process: Process | undefined;

  constructor(draws: Draws) {
    this.#draws = draws;
    const client = (name: string, changes: Partial<FeedClientOptions>) =>
      new FeedClient({
        name,
        query: ALL,
        isPaged: false,
        clock: this.#clock,
        draws: draws.fork(name),
        violate: (what) => this.#violate(what),
        ...changes,
      });
    this.#clients = [
      client('a stream', {}),
      client('a stream of signed messages', { query: { ...ALL, status: 'signed' } }),
      client('a reader of pages', { isPaged: true }),
    ];
  }

  async run(): Promise<FeedRun> {
    for (const chain of this.#chains) chain.omission = this.#draws.pick(OMISSIONS);
    this.#start();
    for (let step = 0; step < STEPS; step += 1) {
      const event = this.#draws.weighted(EVENTS);
      if (event !== undefined) this.#act(event, this.#draws.pick(this.#chains));
      // Short pauses end the process in the middle of its work.
      await this.#pass((this.#draws.chance(0.5) ? 30 : 4_000) * this.#draws.next());
      if (this.#process === undefined && this.#draws.chance(0.7)) this.#start();
      for (const each of this.#clients) if (this.#draws.chance(0.5)) each.read();
      this.#checkStore();
    }
    await this.#recover();
    await this.#expectPromptness();
    const digest = [...this.#stored().map(keyOf), this.#time.nowMs, ...this.#violations].join();
    await this.#close();
    return { violations: [...this.#violations], occurred: this.#occurred, digest };
  }

  #act(event: keyof typeof EVENTS, chain: SimulatedChain): void {
    const draws = this.#draws;
    switch (event) {
      case 'block':
        return chain.accept(draws.int(0, 3));
      case 'silent block':
        return chain.accept(draws.int(0, 2), false);
      case 'many blocks':
        for (let count = draws.int(1, 100); count > 0; count -= 1) chain.accept(Number(draws.chance(0.2)));
        return;
      case 'execute some':
        return chain.execute(draws.int(1, 20));
      case 'execute':
        return chain.execute();
      case 'fault':
        chain.faults[draws.int(0, nodesOf(chain) - 1)] = draws.pick(
          this.#disk.checkpoint(chain.chainID) === undefined ? FAULTS : [...FAULTS, 'contradicts', 'invents'],
        );
        return;
      case 'end fault':
        chain.faults.fill('none');
        return;
      case 'short ranges':
        chain.maxRange = draws.int(1, 500);
        return;
      case 'heads':
        return this.#reportHeads(200);
      case 'close sockets':
        for (const socket of this.#process?.sockets ?? []) socket.close();
        return;
      case 'silent sockets':
        for (const socket of this.#process?.sockets ?? []) socket.isSilent = true;
        return;
      case 'half-open sockets':
        for (const socket of this.#process?.sockets ?? []) socket.isHalfOpen = true;
        return;
      case 'disk is full':
        this.#isFull = true;
        return;
      case 'end of a full disk':
        this.#isFull = false;
        return;
      case 'crash':
        return this.#crash();
      case 'crash while writing':
        this.#endsWriting = true;
        return;
      case 'client resumes':
        if (this.#process !== undefined) draws.pick(this.#clients).connect(this.#disk, draws.int(0, 2));
        return;
      case 'client begins anew':
        if (this.#process !== undefined) draws.pick(this.#clients).connect(this.#disk, Number.POSITIVE_INFINITY);
        return;
      case 'refusals':
        this.#refusal = draws.pick(REFUSALS);
        return;
      case 'end refusals':
        this.#refusal = undefined;
    }
  }

  /** Reports the last heads of the chain with a socket, each after a delay of its own, so that they come out of order. */
  #reportHeads(maxDelayMs: number): void {
    const [chain] = this.#chains;
    const { sockets = [] } = this.#process ?? {};
    for (let behind = this.#draws.int(0, 2); behind >= 0; behind -= 1) {
      const number = Math.max(0, (chain?.height ?? 0) - behind);
      this.#clock.after(maxDelayMs * this.#draws.next(), () => {
        for (const socket of sockets) socket.reportHead(number);
      });
    }
  }

  #start(): void {
    const isAhead = !this.#isCalm && this.#draws.chance(WRONG_CLOCK);
    if (isAhead) this.#occurred.add('a wrong clock');
    const clock = clockAhead(this.#time.view(), isAhead ? AHEAD_MS : 0);
    const sockets: SimulatedSocket[] = [];
    const listening: (() => void)[] = [];
    let isAlive = true;
    const end = (): void => {
      isAlive = false;
      clock.stop();
      for (const stop of listening) stop();
    };
    const written =
      <Args extends readonly unknown[], Result>(write: (...args: Args) => Result, lost: Result) =>
      (...args: Args): Result => {
        if (!isAlive) return lost;
        if (this.#isFull) throw this.#failOfFullDisk();
        return write(...args);
      };
    const store: MessageStore = {
      ...this.#disk,
      addChain: written(this.#disk.addChain, undefined),
      confirm: written((chainID, batch) => this.#confirm(chainID, batch), 0),
      moveChain: written((chainID, checkpoint) => {
        this.#occurred.add('a position given up');
        this.#disk.moveChain(chainID, checkpoint);
      }, undefined),
      append: written((chainID, batch) => this.#append(chainID, batch), undefined),
      hasten: written(this.#disk.hasten, undefined),
      postpone: written(this.#disk.postpone, undefined),
      setSigned: written(this.#disk.setSigned, undefined),
      setFailed: written(this.#disk.setFailed, undefined),
      prune: written(this.#disk.prune, 0),
      onChange(listener) {
        const stop = disk.onChange(listener);
        listening.push(stop);
        return stop;
      },
      [Symbol.dispose]: () => undefined,
    };
    const disk = this.#disk;
    const chainOf = (chainID: unknown) => this.#chains.find((chain) => chain.chainID === chainID) as SimulatedChain;
    const feed = openFeed({
      settings: {
        chains: [
          { blockchainId: CHAIN, fromBlock: 1, webSocket: { baseUrl: 'ws://node' } },
          { blockchainId: OTHER_CHAIN, fromBlock: 1 },
        ],
        retentionHours: 168,
        maxMessages: 100_000,
      },
      openStore: () => store,
      hasStoredMessages: () => true,
      maxBytes: 1e9,
      aggregator: this.#aggregator(clock),
      async identify(chain) {
        if (chainOf(chain).fault === 'down') throw new ApiError('unavailable', 'connection refused');
        return chain as BlockchainID;
      },
      openSources: (_, { blockchainId }) => {
        const chain = chainOf(blockchainId);
        return Array.from({ length: nodesOf(chain) }, (_each, index) => chain.node(clock, index));
      },
      openSocket() {
        const socket = new SimulatedSocket(clock);
        sockets.push(socket);
        return socket;
      },
      clock,
      random: this.#draws.fork(`process ${this.#time.nowMs}`).next,
      logger: pino({ level: 'silent' }),
      metrics: createMetrics(new Registry()),
    });
    this.#process = { clock, feed, sockets, end };
    for (const each of this.#clients) each.connect(this.#disk);
  }

  #crash(): void {
    this.#occurred.add('crash');
    this.#process?.end();
    this.#process = undefined;
    for (const each of this.#clients) each.leave();
  }

  #failOfFullDisk(): StoreError {
    this.#occurred.add('a full disk');
    return new StoreError('write', 'the disk', 'there is no space left');
  }

  #confirm(chainID: BlockchainID, batch: BlockBatch): number {
    const added = this.#disk.confirm(chainID, batch);
    if (added > 0) this.#occurred.add('found late');
    return added;
  }

  #append(chainID: BlockchainID, batch: BlockBatch): void {
    if (!this.#endsWriting || batch.messages.length === 0) return this.#disk.append(chainID, batch);
    this.#endsWriting = false;
    this.#occurred.add('crash while writing');
    const last = this.#draws.int(0, batch.messages.length - 1);
    const messages = batch.messages.map((message, index) => (index === last ? endingProcess(message) : message));
    try {
      this.#disk.append(chainID, { ...batch, messages });
    } finally {
      this.#crash();
    }
  }

  #aggregator(clock: ClockView): Aggregator {
    return {
      aggregate: async ({ subject }, { signal }) => {
        if (subject.kind !== 'message') throw new TypeError('the feed signs messages');
        const { id } = subject.message;
        await sleep(clock, this.#isCalm ? 5 : this.#draws.int(1, 300), signal);
        if (this.#refusal !== undefined) throw new AggregatorError(this.#refusal, 'refused', { retryAfterMs: 0 });
        const signableMs = this.#signableMs.get(id) ?? this.#drawSignable();
        this.#signableMs.set(id, signableMs);
        if (this.#time.nowMs >= signableMs) return SIGNED_RESULT;
        throw new AggregatorError('insufficient_weight', 'too few signed', { retryAfterMs: 0 });
      },
    };
  }

  #drawSignable(): number {
    const kind = this.#isCalm ? 'soon' : this.#draws.weighted({ soon: 16, late: 3, never: 1 });
    if (kind === 'never') return Number.POSITIVE_INFINITY;
    return kind === 'late' ? this.#time.nowMs + this.#draws.int(1, 20_000) : 0;
  }

  /** All messages of blocks up to the watermarks are stored, and no other, but those that a node leaves out, until they are confirmed. */
  #checkStore(): void {
    for (const chain of this.#chains) {
      const { chainID, omission } = chain;
      const checkpoint = this.#disk.checkpoint(chainID);
      const confirmed = this.#disk.confirmed(chainID);
      if (confirmed?.blockHash !== undefined && chain.hashAt(confirmed.blockNumber) !== confirmed.blockHash)
        this.#violate(`block ${confirmed.blockNumber} is confirmed, which is not on the chain`);
      // Blocks that a node has invented are given up later.
      if (checkpoint === undefined || chain.hashAt(checkpoint.blockNumber) !== checkpoint.blockHash) continue;
      const through = omission === 'none' ? checkpoint.blockNumber : (confirmed?.blockNumber ?? 0);
      const expected = chain.messages.filter(({ blockNumber }) => blockNumber <= through).length;
      const stored = this.#storedOf(chainID).filter(({ blockNumber }) => blockNumber <= through).length;
      if (stored !== expected)
        this.#violate(`${stored} messages are stored, and the blocks that were read have ${expected}`);
    }
    for (const { problem } of this.#process?.feed.chains() ?? [])
      if (problem?.includes('correct the RPC') === true) this.#occurred.add('stopped');
  }

  async #recover(): Promise<void> {
    this.#isCalm = true;
    this.#endsWriting = false;
    this.#refusal = undefined;
    this.#isFull = false;
    for (const chain of this.#chains) {
      chain.faults.fill('none');
      // What a node omits goes on, and so may the fault of one of two nodes.
      if (nodesOf(chain) > 1) chain.faults[this.#draws.int(0, 1)] = this.#draws.pick(LASTING_FAULTS);
      chain.execute();
    }
    for (const socket of this.#process?.sockets ?? []) Object.assign(socket, { isSilent: false, isHalfOpen: false });
    if (this.#process === undefined) this.#start();
    for (let waitedMs = 0; waitedMs < RECOVERY_MS.max; waitedMs += 1_000) {
      await this.#pass(1_000);
      for (const each of this.#clients) each.read();
      if (waitedMs >= RECOVERY_MS.min && this.#isSettled()) break;
    }
    for (const { chainID, height } of this.#chains) {
      const watermark = this.#disk.checkpoint(chainID)?.blockNumber;
      if (watermark !== height) this.#violate(`a chain of ${height} blocks is read up to block ${watermark}`);
      const confirmed = this.#disk.confirmed(chainID)?.blockNumber;
      if (confirmed !== height) this.#violate(`a chain of ${height} blocks is confirmed up to block ${confirmed}`);
    }
    for (const { problem } of this.#process?.feed.chains() ?? [])
      if (problem !== undefined) this.#violate(`a chain has a problem: ${problem}`);
    this.#checkStore();
    this.#checkDeliveries(this.#chains.flatMap(emittedOf));
  }

  #isSettled(): boolean {
    const isRead = this.#chains.every(
      ({ chainID, height }) =>
        this.#disk.checkpoint(chainID)?.blockNumber === height && this.#disk.confirmed(chainID)?.blockNumber === height,
    );
    const after = new Map(this.#chains.map(({ chainID }) => [chainID, endOfBlock(0)]));
    return (
      isRead &&
      this.#disk.page({ after, status: 'pending', limit: 1 }).length === 0 &&
      this.#disk.page({ after, status: 'failed', limit: 1_000 }).every(({ message }) => this.#isNeverSigned(message.id))
    );
  }

  /** When all is well, messages are delivered soon after the head is reported, also if it is reported while blocks are read. */
  async #expectPromptness(): Promise<void> {
    const [chain] = this.#chains;
    if (chain === undefined) return;
    chain.latencyMs = 4;
    // What is left out is found minutes later.
    chain.omission = 'none';
    for (let round = 0; round < PROMPT_ROUNDS; round += 1) {
      const before = chain.messages.length;
      for (let block = this.#draws.int(1, 3); block > 0; block -= 1) {
        chain.accept(this.#draws.int(1, 2));
        chain.execute();
        this.#reportHeads(1);
        await this.#pass(15 * this.#draws.next());
      }
      await this.#pass(PROMPT_MS);
      this.#checkDeliveries(emittedOf(chain).slice(before), 'soon');
    }
    // A web socket of which nothing comes any more.
    for (const socket of this.#process?.sockets ?? []) socket.isHalfOpen = true;
    for (let round = 0; round < PROMPT_ROUNDS; round += 1) {
      const before = chain.messages.length;
      chain.accept(1);
      chain.execute();
      await this.#pass(POLL_MS + PROMPT_MS);
      this.#checkDeliveries(emittedOf(chain).slice(before), 'by polling');
    }
  }

  #checkDeliveries(
    emitted: readonly { readonly id: string; readonly position: MessagePosition }[],
    when = 'at last',
  ): void {
    for (const client of this.#clients) {
      const { name, query, isPaged } = client.options;
      if (isPaged && when !== 'at last') continue;
      for (const { id, position } of emitted) {
        const expected = this.#isNeverSigned(id) ? 'failed' : 'signed';
        const isOfQuery =
          [undefined, expected].includes(query.status) && [undefined, position.chainID].includes(query.sourceChainID);
        this.#occurred.add(expected);
        const found = client.statusOf(position);
        if (isOfQuery && found !== expected) {
          this.#violate(
            `${name} was to receive ${keyOf(position)} as ${expected} ${when}: ${found ?? 'nothing'} was delivered`,
          );
        }
      }
    }
  }

  #storedOf(chainID: BlockchainID) {
    return this.#disk.page({ after: new Map([[chainID, endOfBlock(0)]]), limit: 100_000 });
  }

  #stored() {
    const after = new Map(this.#chains.map(({ chainID }) => [chainID, endOfBlock(0)]));
    return this.#disk.page({ after, limit: 100_000 });
  }

  #isNeverSigned(messageID: string): boolean {
    return this.#signableMs.get(messageID) === Number.POSITIVE_INFINITY;
  }

  async #close(): Promise<void> {
    for (const each of this.#clients) each.leave();
    const { feed, clock } = this.#process as Process;
    let isClosed = false;
    void feed[Symbol.asyncDispose]().then(() => {
      isClosed = true;
    });
    if (!(await this.#time.runUntil(this.#time.nowMs + 60_000, () => isClosed))) this.#violate('the feed does not end');
    if (clock.pendingTimers > 0) this.#violate(`${clock.pendingTimers} timers are left`);
    this.#disk[Symbol.dispose]();
  }

  async #pass(ms: number): Promise<void> {
    await this.#time.runUntil(this.#time.nowMs + ms);
  }

  #violate(what: string): void {
    this.#violations.add(what);
  }
}

/** The first chain has one node, the other one two. */
function nodesOf({ chainID }: SimulatedChain): number {
  return chainID === CHAIN ? 1 : 2;
}

/** A view whose wall clock is ahead. */
function clockAhead(view: ClockView, aheadMs: number): ClockView {
  return Object.assign(Object.create(view) as ClockView, { now: () => view.now() + aheadMs });
}

function emittedOf({ chainID, messages }: SimulatedChain) {
  return messages.map(({ message, blockNumber, logIndex }) => ({
    id: message.id,
    position: { chainID, blockNumber, logIndex },
  }));
}

/** A message at which the process ends, in the middle of its write. */
function endingProcess(message: EmittedMessage): EmittedMessage {
  return Object.defineProperty({ ...message }, 'txHash', {
    get() {
      throw new Error('the process has ended');
    },
  });
}
