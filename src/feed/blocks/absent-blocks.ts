import type { BlockCalls } from './block-source.ts';

/** The node has later blocks and not this one: it was state-synced, or keeps the newest blocks only. */
export class BlocksGone extends Error {
  override readonly name = 'BlocksGone';
}

/**
 * Finds the first block that the node has, by some 30 calls.
 *
 * @param number a block that the node does not have
 * @param head a block that it has reported
 */
export async function explainAbsence(
  calls: BlockCalls,
  number: number,
  head: number,
  signal: AbortSignal,
): Promise<BlocksGone> {
  let absent = number;
  let present = head;
  while (present - absent > 1) {
    const middle = Math.floor((absent + present) / 2);
    if ((await calls.block(middle, signal)) === undefined) absent = middle;
    else present = middle;
  }
  return new BlocksGone(
    `its node does not have block ${number}: its blocks begin at ${present}. Give an RPC that has all blocks, or set fromBlock to ${present} ` +
      'or more, which leaves out the messages before it',
  );
}
