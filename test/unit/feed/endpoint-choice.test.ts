import { expect, test } from 'vitest';
import { createBlockCalls } from '../../../src/feed/blocks/block-source.ts';
import { createEndpointChoice } from '../../../src/feed/chains/endpoint-choice.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { SimulatedChain } from './simulated-chain.ts';

const { signal } = new AbortController();

/** Endpoints with these heads; undefined for one that does not answer. */
function createChoice(heads: (number | undefined)[]) {
  const clock = new FakeClock();
  const node = new SimulatedChain(clock).node();
  const endpoints = heads.map((_, index) => ({
    ...createBlockCalls(node, clock),
    async headBlock() {
      const head = heads[index];
      if (head === undefined) throw new Error('no answer');
      return head;
    },
  }));
  const choice = createEndpointChoice(endpoints, clock);
  return {
    choice,
    heads,
    /** Returns the endpoint that is chosen a minute later. */
    async compare(): Promise<number> {
      choice.compareWhenDue(signal);
      await clock.advance(60_000);
      return choice.current.index;
    },
  };
}

test('the first endpoint of the configuration is read', async () => {
  expect(await createChoice([10, 10]).compare()).toBe(0);
});

test('an endpoint that has failed is left for the next one', () => {
  const { choice } = createChoice([10, 10]);
  choice.leave();
  expect(choice.current.index).toBe(1);
  choice.leave();
  expect(choice.current.index).toBe(0);
});

test('an endpoint whose head moves is chosen before one that stands still', async () => {
  const { heads, compare } = createChoice([10, 10]);
  await compare();
  heads[1] = 11;
  expect(await compare()).toBe(1);
  heads[0] = 11;
  expect(await compare()).toBe(0);
});

test('an endpoint that is a few blocks ahead is chosen where no head moves', async () => {
  expect(await createChoice([10, 13]).compare()).toBe(1);
  expect(await createChoice([10, 42]).compare()).toBe(1);
});

test('an endpoint that is many blocks ahead is not chosen before its head moves', async () => {
  const { heads, compare } = createChoice([10, 43]);
  expect(await compare()).toBe(0);
  heads[1] = 44;
  expect(await compare()).toBe(1);
});

test('an endpoint without an answer is not compared', async () => {
  const { heads, compare } = createChoice([undefined, 10]);
  expect(await compare()).toBe(0);
  heads[0] = 10;
  heads[1] = undefined;
  expect(await compare()).toBe(0);
});
