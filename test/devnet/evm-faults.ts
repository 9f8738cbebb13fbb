import { hash } from 'node:crypto';
import { encodeExactJson, parseExactJson } from '../../src/pchain/codec/exact-json.ts';
import { type GatewayCall, type GatewayFault, type GatewayReply, rejection } from './gateway.ts';

/** What RPCs of EVM chains do, as their users report it, by name. A fault that ends does so after {@link FAULT_MS}. */
export const FAULT_MS = 20_000;
/** Longest range of those that refuse longer ones. */
const MAX_RANGE = 16;
/** Blocks that a node of a balancer is behind. */
const LAG = 25;
/** The last block of a node that stands still. */
const STANDS_AT = 10;
/** One block in so many has logs that are hidden. */
const HIDDEN_EVERY = 10;
/** First block of a node that was state-synced. */
export const FIRST_BLOCK = 500;

export interface FaultWorld {
  /** Time since the fault began. */
  readonly elapsedMs: number;
  /** Last block of the chain. */
  readonly head: number;
  /** Calls so far. */
  readonly callCount: number;
  readonly sleep: (ms: number) => Promise<void>;
}

export type EvmFault = (
  call: GatewayCall,
  forward: () => Promise<GatewayReply>,
  world: FaultWorld,
) => ReturnType<GatewayFault>;

type Json = Record<string, unknown>;

export const EVM_FAULTS = {
  // Ranges of logs
  'ranges refused in the words of avalanchego': onLongRanges((call) =>
    rejection(call, -32_000, `requested too many blocks from 1 to 64, maximum is set to ${MAX_RANGE}`),
  ),
  'ranges refused in the words of Infura': onLongRanges((call) =>
    rejection(call, -32_005, 'query returned more than 10000 results'),
  ),
  'ranges refused in the words of Alchemy': onLongRanges((call) =>
    rejection(call, -32_602, 'Log response size exceeded. this block range should work: [0x1, 0x10]'),
  ),
  'ranges refused in the words of Ankr': onLongRanges((call) => ({
    ...rejection(call, -32_614, `eth_getLogs is limited to a ${MAX_RANGE} range`),
    status: 413,
  })),
  'ranges refused as a method that is not allowed': onLongRanges((call) =>
    rejection(call, -32_601, 'the method eth_getLogs is not allowed for this range'),
  ),
  'ranges refused as HTTP 429': onLongRanges(() => ({ status: 429, body: 'slow down' })),
  'ranges refused as HTTP 500': onLongRanges(() => ({ status: 500, body: 'query timeout exceeded' })),
  'silence for long ranges': onLongRanges(() => new Promise<never>(() => undefined)),
  'silence for all ranges': (call, forward) =>
    rangeOf(call) === undefined ? forward() : new Promise<never>(() => undefined),
  'ranges answered with HTML': onLongRanges(() => ({ status: 200, body: '<html>' })),
  // Time
  '50 ms a call': async (_call, forward, { sleep }) => {
    await sleep(50);
    return forward();
  },
  'a second a call for each 100 blocks of a range': async (call, forward, { sleep }) => {
    const [first = 0, last = 0] = rangeOf(call) ?? [];
    await sleep(10 * (last - first));
    return forward();
  },
  // Receipts
  'receipts without logs, for seconds': changed('eth_getBlockReceipts', (receipts: Json[], { elapsedMs }) =>
    elapsedMs < FAULT_MS ? receipts.map((receipt) => ({ ...receipt, logs: [] })) : receipts,
  ),
  'no receipts of blocks': (call, forward) =>
    call.method === 'eth_getBlockReceipts' ? rejection(call, -32_601, 'the method does not exist') : forward(),
  'silence for receipts of blocks': (call, forward) =>
    call.method === 'eth_getBlockReceipts' ? new Promise<never>(() => undefined) : forward(),
  // Wrong answers
  'logs of another block': changed('eth_getLogs', (logs: Json[], { elapsedMs }) =>
    elapsedMs < FAULT_MS ? logs.map((log) => ({ ...log, blockNumber: '0x7' })) : logs,
  ),
  'a log more than the range': changed('eth_getLogs', (logs: Json[], { elapsedMs }) =>
    elapsedMs < FAULT_MS && logs.length > 0 ? [...logs, { ...logs.at(-1), blockNumber: '0xfffff' }] : logs,
  ),
  'receipts of another block': changed('eth_getBlockReceipts', (receipts: Json[], { elapsedMs }) =>
    elapsedMs < FAULT_MS ? receipts.map((receipt) => ({ ...receipt, blockHash: `0x${'7'.repeat(64)}` })) : receipts,
  ),
  'a block of the year 285 million': changed('eth_getBlockByNumber', (block: Json, { elapsedMs }) =>
    elapsedMs < FAULT_MS ? { ...block, timestamp: '0x1fffffffffffff', timestampMilliseconds: undefined } : block,
  ),
  'one answer in ten is HTTP 502': (_call, forward, world) =>
    isOneIn(10, world) ? { status: 502, body: 'bad gateway' } : forward(),
  // Nodes behind a balancer
  'a balancer with a node that is behind': async (call, forward, world) => {
    const reply = await forward();
    return isOneIn(2, world) ? ofNodeBehind(call, reply, Math.max(0, world.head - LAG)) : reply;
  },
  'no answer at all': async (_call, forward, { elapsedMs }) =>
    elapsedMs < FAULT_MS ? new Promise<never>(() => undefined) : forward(),
} as const satisfies Readonly<Record<string, EvmFault>>;

/** Faults of which the first reading cannot know. All but the first are over after {@link FAULT_MS}. */
export const SILENT_FAULTS = {
  'the same logs hidden from all ranges, for good': async (call, forward, world) =>
    rangeOf(call) === undefined ? forward() : hideLogs(call, forward, world),

  'a log left out of each range': changed('eth_getLogs', (logs: Json[], { elapsedMs }) =>
    elapsedMs < FAULT_MS ? logs.slice(0, -1) : logs,
  ),
  'receipts without logs and bloom filter': changed('eth_getBlockReceipts', (receipts: Json[], { elapsedMs }) =>
    elapsedMs < FAULT_MS ? receipts.map((receipt) => ({ ...receipt, logs: [], logsBloom: undefined })) : receipts,
  ),
} as const satisfies Readonly<Record<string, EvmFault>>;

/** Receipts of some blocks have no logs, for good, and no bloom filter that shows it. */
export const EMPTY_RECEIPTS: EvmFault = changed('eth_getBlockReceipts', (receipts: Json[]) =>
  receipts.map((receipt) => (isHidden(receipt) ? { ...receipt, logs: [], logsBloom: undefined } : receipt)),
);

/** A node that has stopped at a block, without an error. */
export const STANDS_STILL: EvmFault = async (call, forward) => ofNodeBehind(call, await forward(), STANDS_AT);

export type EvmFaultName = keyof typeof EVM_FAULTS;

/** A node that has no blocks before {@link FIRST_BLOCK}. */
export const STATE_SYNCED: EvmFault = (call, forward) => {
  const number = call.method === 'eth_getBlockByNumber' ? Number(call.params['0']) : FIRST_BLOCK;
  if (number < FIRST_BLOCK) return replyOf(call, null);
  const [first = FIRST_BLOCK] = rangeOf(call) ?? [];
  return first < FIRST_BLOCK ? rejection(call, -32_000, 'not found') : forward();
};

const hideLogs = changed('eth_getLogs', (logs: Json[]) => logs.filter((log) => !isHidden(log)));

function isHidden({ blockNumber }: Json): boolean {
  return Number(blockNumber) % HIDDEN_EVERY === 7;
}

function onLongRanges(answer: (call: GatewayCall) => GatewayReply | Promise<GatewayReply>): EvmFault {
  return (call, forward) => {
    const [first = 0, last = 0] = rangeOf(call) ?? [];
    return last - first >= MAX_RANGE ? answer(call) : forward();
  };
}

/** The range of a call for logs. */
function rangeOf({ method, params }: GatewayCall): readonly [number, number] | undefined {
  const { fromBlock, toBlock } = (params['0'] ?? {}) as Json;
  return method === 'eth_getLogs' && fromBlock !== undefined ? [Number(fromBlock), Number(toBlock)] : undefined;
}

function changed<Result>(method: string, change: (result: Result, world: FaultWorld) => unknown): EvmFault {
  return async (call, forward, world) => {
    const reply = await forward();
    const result = resultOf(reply);
    return call.method !== method || result === null ? reply : replyOf(call, change(result as Result, world));
  };
}

/** A node without the newest blocks: their logs are left out of a range without an error. */
function ofNodeBehind(call: GatewayCall, reply: GatewayReply, head: number): GatewayReply {
  const result = resultOf(reply);
  const isNew = (number: unknown): boolean => Number(number) > head;
  if (call.method === 'eth_blockNumber') return replyOf(call, `0x${head.toString(16)}`);
  if (call.method === 'eth_getLogs')
    return replyOf(
      call,
      (result as Json[]).filter((log) => !isNew(log['blockNumber'])),
    );
  const [first] = [result ?? []].flat() as Json[];
  return isNew(first?.['blockNumber'] ?? first?.['number']) ? replyOf(call, null) : reply;
}

/** One call in so many, in no order. */
function isOneIn(count: number, { callCount }: FaultWorld): boolean {
  return hash('sha256', String(callCount), 'buffer').readUInt16BE() % count === 0;
}

function resultOf({ body }: GatewayReply): unknown {
  return (parseExactJson(String(body), 'reply') as Json)['result'] ?? null;
}

function replyOf({ id }: GatewayCall, result: unknown): GatewayReply {
  return { status: 200, body: encodeExactJson({ jsonrpc: '2.0', id, result }) };
}
