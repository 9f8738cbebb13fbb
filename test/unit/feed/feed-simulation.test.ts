import { expect, test } from 'vitest';
import { createSeededRandom } from '../../../src/devnet/seeded-random.ts';
import type { Fault } from './simulated-chain.ts';
import { createWatchedChain } from './watched-chain.ts';

/**
 * A chain in virtual time, whose node lags, hangs, contradicts itself, answers for another chain, and drops its web socket, while the process
 * crashes between any two steps. At the end all faults are over, and the store must have each message once, in the order of the chain.
 */

const SEEDS = 40;
const STEPS = 60;
const FAULTS: readonly Fault[] = ['down', 'hangs', 'lags', 'other chain', 'contradicts'];

type Watched = ReturnType<typeof createWatchedChain>;

/** What may happen in a step. */
const EVENTS: readonly ((watched: Watched, random: () => number) => void)[] = [
  ({ chain }, random) => chain.accept(Math.floor(3 * random())),
  ({ chain }, random) => chain.accept(Math.floor(3 * random()), random() < 0.5),
  ({ chain }, random) => {
    for (let block = 0; block < 100 * random(); block += 1) chain.accept(Math.floor(2 * random()));
  },
  ({ chain }, random) => chain.execute(Math.floor(20 * random())),
  ({ chain }) => chain.execute(),
  ({ chain }, random) => {
    chain.fault = FAULTS[Math.floor(FAULTS.length * random())] ?? 'none';
  },
  ({ chain }) => {
    chain.fault = 'none';
  },
  ({ chain }, random) => {
    chain.maxRange = 1 + Math.floor(500 * random());
  },
  (watched) => watched.reportHead(),
  ({ sockets }) => {
    for (const socket of sockets) socket.close();
  },
  (watched) => {
    watched.crash();
    watched.start();
  },
];

async function runSeed(seed: number): Promise<Watched> {
  const random = createSeededRandom(seed);
  const watched = createWatchedChain({ hasSocket: random() < 0.5 });
  watched.start(1);
  await watched.clock.advance(1_000);
  for (let step = 0; step < STEPS; step += 1) {
    EVENTS[Math.floor(EVENTS.length * random())]?.(watched, random);
    // Short pauses crash the process in the middle of its work.
    await watched.clock.advance(random() < 0.5 ? 30 * random() : 4_000 * random());
  }
  watched.chain.fault = 'none';
  watched.chain.execute();
  await watched.clock.advance(180_000);
  return watched;
}

test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))('no message is missing: seed %i', async (seed) => {
  const watched = await runSeed(seed);
  expect(watched.stored()).toEqual(watched.emitted());
  expect(watched.watermark()).toBe(watched.chain.height);
  expect(watched.status()?.problem).toBeUndefined();
  await watched.stop();
  expect(watched.clock.pendingTimers).toBe(0);
});
