import { describe, expect, test } from 'vitest';
import { EvmChain } from '../../../../src/devnet/pchain/evm-chain.ts';
import { type BlockchainID, idBytes, idFromBytes } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const blockchainID = idFromBytes<BlockchainID>(new Uint8Array(32).fill(9), 'ID');

function createChain(executionLagMs = 0) {
  const clock = new FakeClock();
  const sender = new Uint8Array(20).fill(1);
  return { clock, chain: new EvmChain({ vm: 'coreth', networkID: 1337, blockchainID, sender, clock, executionLagMs }) };
}

const payload = (text: string): Uint8Array => Buffer.from(text);
const everything = { blockHash: undefined, fromBlock: 0, toBlock: 1_000 };

describe('a transaction', () => {
  test('is in a block of its own, and its receipt and logs name both', () => {
    const { chain } = createChain();
    const [first, second] = [chain.transact([payload('a'), payload('b')]), chain.transact([payload('c')])];
    expect([first.block.number, second.block.number, chain.height]).toEqual([1, 2, 2]);
    const logs = chain.logs({ ...everything, blockHash: first.block.hash });
    expect(logs).toMatchObject([
      { transactionHash: first.hash, blockHash: first.block.hash, blockNumber: '0x1', logIndex: '0x0' },
      { transactionHash: first.hash, blockHash: first.block.hash, blockNumber: '0x1', logIndex: '0x1' },
    ]);
    expect(logs.map(({ topics }) => topics[2])).toEqual(
      first.messages.map(({ id }) => `0x${Buffer.from(idBytes(id)).toString('hex')}`),
    );
    expect(chain.receipt(first.hash)).toMatchObject({ blockNumber: '0x1', status: '0x1', logs });
    expect(chain.logs({ ...everything, fromBlock: 2 })).toHaveLength(1);
    expect(chain.logs({ ...everything, toBlock: 1 })).toEqual(logs);
  });

  test('has neither receipt nor logs until its block is executed', async () => {
    const { chain, clock } = createChain(200);
    const { hash, block } = chain.transact([payload('a')]);
    const seen = () => [chain.receipt(hash) !== undefined, chain.logs({ ...everything, blockHash: block.hash }).length];
    expect(chain.height).toBe(1);
    expect(seen()).toEqual([false, 0]);
    await clock.advance(199);
    expect(seen()).toEqual([false, 0]);
    await clock.advance(1);
    expect(seen()).toEqual([true, 1]);
  });

  test('that emits a known message again does not make validators refuse it', async () => {
    const { chain, clock } = createChain(200);
    const message = chain.emit(payload('a'));
    await clock.advance(200);
    chain.emit(payload('a'));
    expect(chain.hasEmitted(message)).toBe(true);
  });

  test('is forgotten once 64 MiB of newer ones have come, and its message is still signed', () => {
    const { chain } = createChain();
    const oldest = chain.transact([payload('a')]);
    const large = new Uint8Array(24 * 1024);
    for (let count = 0; count < 1_350; count += 1) chain.transact([large]);
    expect(chain.receipt(oldest.hash)).toBeUndefined();
    expect(chain.logs({ ...everything, blockHash: oldest.block.hash })).toEqual([]);
    expect(chain.hasEmitted(oldest.messages[0]!)).toBe(true);
    expect(chain.receipt(chain.transact([large]).hash)).toBeDefined();
  });
});
