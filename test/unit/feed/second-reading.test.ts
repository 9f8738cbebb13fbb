import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BlockSource } from '../../../src/feed/blocks/block-source.ts';
import { checkpointOf } from '../../../src/feed/blocks/chain-checks.ts';
import { createReadingLog, type ReadingMethod } from '../../../src/feed/chains/reading-log.ts';
import { createSecondReading } from '../../../src/feed/chains/second-reading.ts';
import { endOfBlock } from '../../../src/feed/feed-message.ts';
import { type MessageStore, openMessageStore } from '../../../src/feed/message-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { CHAIN } from './emitted.ts';
import { SimulatedChain } from './simulated-chain.ts';

/** Blocks are confirmed when they were read three minutes ago. */
const CONFIRM_AFTER_MS = 180_000;

const { signal } = new AbortController();
let clock: FakeClock;
let chain: SimulatedChain;
let store: MessageStore;
/** Numbers of the blocks that were asked for. */
let asked: number[];

beforeEach(() => {
  clock = new FakeClock();
  chain = new SimulatedChain(clock);
  store = openMessageStore({ directory: undefined, networkID: 1 });
  asked = [];
});

afterEach(() => store[Symbol.dispose]());

/** Accepts blocks with these numbers of transactions, and lets the first reading miss their messages. */
async function readWithoutMessages(transactions: readonly number[], method: ReadingMethod) {
  const node = chain.node();
  const first = await answerOf(node.block(0, signal));
  for (const count of transactions) chain.accept(count);
  chain.execute();
  const last = await answerOf(node.block(chain.height, signal));
  if (first === undefined || last === undefined) throw new Error('the chain has no such block');
  store.addChain(CHAIN, checkpointOf(first));
  store.append(CHAIN, { firstBlock: 1, checkpoint: checkpointOf(last), messages: [] });
  const log = createReadingLog(clock);
  log.note(checkpointOf(last), method);
  await clock.advance(CONFIRM_AFTER_MS);
  const source: BlockSource = {
    ...node,
    block(number, ending) {
      asked.push(number);
      return node.block(number, ending);
    },
  };
  return createSecondReading({
    chainID: CHAIN,
    sources: [source],
    store,
    clock,
    log,
    logger: createLogLines().logger,
    fromBlock: undefined,
    accepts: () => true,
    onMissed: () => undefined,
  });
}

async function answerOf<Answer>(answer: Promise<Answer>): Promise<Answer> {
  await clock.advance(10);
  return await answer;
}

async function confirmAll(reading: ReturnType<typeof createSecondReading>): Promise<void> {
  for (let steps = 0; store.confirmed(CHAIN)?.blockNumber !== chain.height; steps += 1) {
    if (steps === 10) throw new Error('the blocks are not confirmed');
    const step = reading.read(signal);
    await clock.advance(100);
    await step;
  }
}

const stored = () =>
  store.page({ after: new Map([[CHAIN, endOfBlock(0)]]), limit: 100 }).map(({ blockNumber }) => blockNumber);

test.each([[[1, 0]], [[1, 0, 0, 0]], [[0, 1, 1, 0, 0]]])(
  'messages that receipts have left out are found, also if the last blocks have no transactions: %j',
  async (transactions) => {
    chain.omission = 'receipts';
    await confirmAll(await readWithoutMessages(transactions, { endpoint: 0, by: 'receipts' }));
    expect(stored()).toEqual(chain.messages.map(({ blockNumber }) => blockNumber));
  },
);

test('blocks without transactions are asked for once, but for the last one', async () => {
  await confirmAll(await readWithoutMessages(Array(8).fill(0), { endpoint: 0, by: 'receipts' }));
  expect(asked.filter((number) => number !== 8)).toEqual([7, 6, 5, 4, 3, 2, 1]);
});
