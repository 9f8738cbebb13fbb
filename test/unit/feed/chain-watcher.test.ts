import { afterEach, describe, expect, test } from 'vitest';
import { CHAIN, emitted, OTHER_CHAIN } from './emitted.ts';
import type { Fault } from './simulated-chain.ts';
import type { SimulatedSocket } from './simulated-socket.ts';
import { createWatchedChain } from './watched-chain.ts';

let watched: ReturnType<typeof createWatchedChain>;

async function start(options?: Parameters<typeof createWatchedChain>[0]) {
  watched = createWatchedChain(options);
  watched.start(1);
  await watched.clock.advance(100);
}

afterEach(() => watched.stop());

test('reads each block, with and without messages, while it polls', async () => {
  await start();
  watched.chain.accept(2);
  watched.chain.accept(0);
  watched.chain.accept(1, false);
  watched.chain.execute();
  await watched.clock.advance(500);
  expect(watched.watermark()).toBe(3);
  expect(watched.stored()).toEqual(['1.0', '1.1']);
});

test('begins at the head if no first block is given', async () => {
  watched = createWatchedChain();
  for (let block = 0; block < 5; block += 1) watched.chain.accept(1);
  watched.chain.execute();
  watched.start();
  await watched.clock.advance(500);
  expect(watched.stored()).toEqual(['5.0']);
});

test('waits for the receipts of a block that is accepted and not executed', async () => {
  await start();
  watched.chain.accept(1);
  await watched.clock.advance(5_000);
  expect(watched.watermark()).toBe(0);
  watched.chain.execute();
  await watched.clock.advance(1_000);
  expect(watched.stored()).toEqual(['1.0']);
});

test('reads a long gap by ranges, also if the RPC allows short ones only', async () => {
  watched = createWatchedChain();
  for (let block = 0; block < 300; block += 1) watched.chain.accept(block % 3);
  watched.chain.execute();
  watched.chain.maxRange = 50;
  watched.start(1);
  // One block after the other would take 900 ms.
  await watched.clock.advance(500);
  expect(watched.watermark()).toBe(300);
  expect(watched.stored()).toEqual(watched.emitted());
});

describe('with a web socket', () => {
  test('reads when a head is reported, and needs no polling', async () => {
    await start({ hasSocket: true });
    watched.chain.accept(1);
    watched.chain.execute();
    watched.reportHead();
    await watched.clock.advance(10);
    expect(watched.stored()).toEqual(['1.0']);
  });

  test('opens a new one if the old one reports nothing while there are new heads', async () => {
    await start({ hasSocket: true });
    watched.reportHead();
    await watched.clock.advance(60_000);
    expect(watched.sockets).toHaveLength(1);
    for (let second = 0; second < 32; second += 1) {
      watched.chain.accept(1);
      watched.chain.execute();
      await watched.clock.advance(1_000);
    }
    expect(watched.sockets).toHaveLength(2);
  });

  test('opens a new one if the old one answers no ping', async () => {
    await start({ hasSocket: true });
    await watched.clock.advance(120_000);
    expect(watched.sockets).toHaveLength(1);
    for (const socket of watched.sockets) socket.isHalfOpen = true;
    await watched.clock.advance(45_000);
    expect(watched.sockets).toHaveLength(2);
  });

  describe('is not later than without one', () => {
    /** Returns the longest time until a block was read, of blocks that come each second or so. */
    async function longestDelayMs(hasSocket: boolean, trouble: () => void): Promise<number> {
      await start({ hasSocket });
      watched.reportHead();
      let longestMs = 0;
      for (let block = 1; block <= 60; block += 1) {
        if (block % 5 === 0) trouble();
        watched.chain.accept(1);
        watched.chain.execute();
        watched.reportHead();
        let delayMs = 0;
        for (; watched.watermark() !== block; delayMs += 20) await watched.clock.advance(20);
        longestMs = Math.max(longestMs, delayMs);
        await watched.clock.advance(870 + 20 * (block % 13));
      }
      return longestMs;
    }

    test.each<[string, (socket: SimulatedSocket) => void]>([
      ['if it confirms and stays silent', (socket) => void (socket.isSilent = true)],
      ['if it is half-open', (socket) => void (socket.isHalfOpen = true)],
      ['if it is cut each 5 s', (socket) => socket.close()],
    ])('%s', async (_, trouble) => {
      const withoutMs = await longestDelayMs(false, () => undefined);
      await watched.stop();
      const withMs = await longestDelayMs(true, () => watched.sockets.forEach(trouble));
      expect(withMs).toBeLessThanOrEqual(withoutMs + 200);
    });
  });

  test('is cut each minute without a warning, and warns once when there is none for a minute', async () => {
    await start({ hasSocket: true });
    for (let minute = 0; minute < 10; minute += 1) {
      watched.sockets.at(-1)?.close();
      await watched.clock.advance(60_000);
    }
    expect(watched.lines().filter(({ level }) => level === 'warn')).toEqual([]);
    watched.refuseSockets();
    watched.sockets.at(-1)?.close();
    await watched.clock.advance(300_000);
    expect(watched.lines().filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({ reason: expect.stringContaining('401') }),
    ]);
  });

  test.each<[string, (socket: SimulatedSocket) => void]>([
    ['confirm and stay silent', (socket) => void (socket.isSilent = true)],
    [
      'confirm and close',
      (socket) => {
        socket.isSilent = true;
        watched.clock.after(20, () => socket.close());
      },
    ],
  ])('warns once if all %s', async (_, trouble) => {
    watched = createWatchedChain({ hasSocket: true, trouble });
    watched.start(1);
    for (let second = 0; second < 600; second += 1) {
      watched.chain.accept(1);
      watched.chain.execute();
      watched.reportHead();
      await watched.clock.advance(1_000);
    }
    expect(watched.lines().filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  test('opens a new one soon after each that has worked, however many there were', async () => {
    await start({ hasSocket: true });
    for (let count = 2; count < 10; count += 1) {
      watched.reportHead();
      watched.sockets.at(-1)?.close();
      await watched.clock.advance(1_000);
      expect(watched.sockets).toHaveLength(count);
    }
  });

  test('polls while the socket is away', async () => {
    await start({ hasSocket: true });
    for (const socket of watched.sockets) socket.close();
    watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(500);
    expect(watched.stored()).toEqual(['1.0']);
  });
});

describe('a position that no endpoint can continue', () => {
  const FALSE_HASH = `0x${'f'.repeat(64)}`;

  /** Blocks up to 5,000 of an RPC that has lied. */
  function readFalseBlocks(): void {
    const { chain, store, clock } = watched;
    const checkpoint = { blockNumber: 5_000, blockHash: FALSE_HASH, blockTimeMs: clock.now() };
    const [sent] = chain.messages;
    const message = { ...emitted(3, 0), blockHash: FALSE_HASH };
    if (sent === undefined) throw new Error('there is no message');
    store.append(CHAIN, { firstBlock: (watched.watermark() ?? 0) + 1, checkpoint, messages: [message] });
  }

  test('is given up for the confirmed one after some minutes, and no message is missing', async () => {
    await start();
    watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(300_000);
    expect(watched.store.confirmed(CHAIN)?.blockNumber).toBe(1);
    readFalseBlocks();
    for (let block = 0; block < 4; block += 1) watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(200_000);
    expect(watched.status()?.problem).toContain('4995 before the last one read');
    await watched.clock.advance(200_000);
    expect(watched.stored()).toEqual(watched.emitted());
    expect(watched.storedHashes()).not.toContain(FALSE_HASH);
    expect(watched.lines()).toContainEqual(expect.objectContaining({ msg: expect.stringContaining('goes back') }));
  });

  test('is given up for the first block if none was confirmed', async () => {
    await start();
    watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(1_000);
    readFalseBlocks();
    await watched.clock.advance(400_000);
    expect(watched.watermark()).toBe(1);
    expect(watched.status()?.problem).toBeUndefined();
  });

  test('is kept while it is confirmed, and named with what to do', async () => {
    await start();
    watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(300_000);
    watched.chain.fault = 'contradicts';
    await watched.clock.advance(600_000);
    expect(watched.watermark()).toBe(1);
    expect(watched.status()).toMatchObject({ isStopped: true, problem: expect.stringContaining('forget') });
  });
});

test('an endpoint that has other blocks than the one that is read is logged once in ten minutes', async () => {
  watched = createWatchedChain({ nodes: 2 });
  watched.start(1);
  await watched.clock.advance(1_000);
  watched.chain.faults[0] = 'contradicts';
  for (let block = 0; block < 9; block += 1) {
    watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(60_000);
  }
  expect(watched.stored()).toEqual(watched.emitted());
  expect(watched.lines().filter(({ level }) => level === 'warn')).toEqual([
    expect.objectContaining({ endpoint: 0, reason: expect.stringContaining('its RPC has block') }),
  ]);
});

test('the position is compared with the RPC at a restart', async () => {
  await start();
  watched.chain.accept(1);
  watched.chain.execute();
  await watched.clock.advance(1_000);
  await watched.restart();
  watched.chain.fault = 'contradicts';
  await watched.clock.advance(1_000);
  expect(watched.status()).toMatchObject({ isStopped: true });
});

test('a message of a recent block was executed when it was read, and that of an old one with its block', async () => {
  watched = createWatchedChain();
  watched.chain.accept(1);
  watched.chain.execute();
  const acceptedMs = watched.clock.now();
  await watched.clock.advance(120_000);
  watched.start(1);
  await watched.clock.advance(100);
  watched.chain.accept(1);
  await watched.clock.advance(5_000);
  watched.chain.execute();
  await watched.clock.advance(1_000);
  const [old, recent] = watched.messages();
  expect(old?.executedMs).toBe(acceptedMs);
  expect((recent?.executedMs ?? 0) - (recent?.blockTimeMs ?? 0)).toBeGreaterThanOrEqual(5_000);
});

test('after each block the next one is waited for in short pauses again', async () => {
  await start();
  for (let block = 0; block < 3; block += 1) {
    watched.chain.accept(1);
    await watched.clock.advance(5_000);
    watched.chain.execute();
    await watched.clock.advance(500);
  }
  watched.chain.accept(1);
  await watched.clock.advance(560);
  watched.chain.execute();
  await watched.clock.advance(100);
  expect(watched.watermark()).toBe(4);
});

describe('a chain', () => {
  test.each<Fault>(['other chain', 'contradicts'])('is stopped with a reason if its RPC %s', async (fault) => {
    await start();
    watched.chain.fault = fault;
    for (let block = 0; block < 4; block += 1) watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(70_000);
    expect(watched.watermark()).toBe(0);
    expect(watched.status()).toMatchObject({ isStopped: true, problem: expect.stringContaining('its RPC') });
  });

  test('shows an unforeseen error, logs it once, and goes on', async () => {
    await start();
    watched.chain.fault = 'breaks';
    watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(120_000);
    expect(watched.status()?.problem).toContain('an answer that the code did not foresee');
    expect(watched.lines().filter(({ level }) => level === 'error')).toHaveLength(1);
    watched.chain.fault = 'none';
    await watched.clock.advance(10_000);
    expect(watched.stored()).toEqual(['1.0']);
    expect(watched.status()?.problem).toBeUndefined();
  });

  test('is identified again after an unforeseen error', async () => {
    watched = createWatchedChain({ identifyFailures: 3 });
    watched.chain.accept(1);
    watched.chain.execute();
    watched.start(1);
    await watched.clock.advance(60_000);
    expect(watched.stored()).toEqual(['1.0']);
    expect(watched.lines().filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test('begins when its RPC is of this chain', async () => {
    watched = createWatchedChain();
    watched.chain.fault = 'other chain';
    watched.start(1);
    await watched.clock.advance(100);
    expect(watched.status()).toMatchObject({ isStopped: true, problem: expect.stringContaining(OTHER_CHAIN) });
    expect(watched.watermark()).toBeUndefined();
    watched.chain.fault = 'none';
    watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(31_000);
    expect(watched.stored()).toEqual(['1.0']);
    expect(watched.status()?.problem).toBeUndefined();
  });

  test.each<Fault>(['other ID', 'contradicts'])('is stopped without a new block if its RPC %s', async (fault) => {
    await start();
    watched.chain.accept(1);
    watched.chain.execute();
    await watched.clock.advance(1_000);
    watched.chain.fault = fault;
    await watched.clock.advance(61_000);
    expect(watched.status()).toMatchObject({ isStopped: true });
  });

  test.each<Fault>(['down', 'hangs', 'lags', 'alternates', 'breaks', 'other chain', 'contradicts'])(
    'misses no message if its RPC %s for a while',
    async (fault) => {
      await start();
      watched.chain.accept(1);
      watched.chain.execute();
      await watched.clock.advance(1_000);
      watched.chain.fault = fault;
      for (let block = 0; block < 4; block += 1) watched.chain.accept(1);
      watched.chain.execute();
      await watched.clock.advance(90_000);
      watched.chain.fault = 'none';
      await watched.clock.advance(60_000);
      expect(watched.stored()).toEqual(watched.emitted());
      expect(watched.status()?.problem).toBeUndefined();
    },
  );
});
