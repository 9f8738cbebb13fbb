import { hash } from 'node:crypto';
import type { PChainBlock } from '../../../../src/pchain/codec/p-chain-block.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import { idFromBytes, type SubnetID } from '../../../../src/warp/ids.ts';
import type { ValidationOrigin } from '../../../../src/warp/justification.ts';
import {
  encodeL1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from '../../../../src/warp/l1-message.ts';

/** A registration that differs from every other by its expiry. */
export function registration(number: number): RegisterL1Validator {
  const owner = { threshold: 1, addresses: [new Uint8Array(20).fill(1)] };
  return {
    kind: 'RegisterL1Validator',
    subnetID: idFromBytes<SubnetID>(new Uint8Array(32).fill(7), 'subnetID'),
    nodeID: new Uint8Array(20).fill(2),
    blsPublicKey: new Uint8Array(48).fill(3),
    expiry: BigInt(number),
    remainingBalanceOwner: owner,
    disableOwner: owner,
    weight: 20n,
  };
}

export function originOf(message: RegisterL1Validator): ValidationOrigin {
  return {
    validationID: registrationValidationID(message),
    justification: { kind: 'RegisterL1ValidatorMessage', message: encodeL1Message(message) },
  };
}

/** A P-Chain behind an API node: blocks of a branch, of which `height` are accepted, with the registrations put into them. */
export class TestChain {
  height: bigint;
  /** Blocks from `from` on are others than those of another branch. */
  readonly branches: { readonly from: bigint; readonly name: string }[] = [];
  readonly registrations = new Map<bigint, RegisterL1Validator[]>();
  readonly reads: bigint[] = [];
  /** Unix seconds of block 0; a block a second. */
  genesisTime = 1_000n;
  /** Instead of an answer. */
  failure: ((height: bigint | undefined) => Error | undefined) | undefined;
  /** Blocks never come. */
  hangs = false;
  /** Block IDs in an order that makes no chain. */
  isScrambled = false;

  constructor(height: bigint) {
    this.height = height;
  }

  async getHeight(): Promise<bigint> {
    const failure = this.failure?.(undefined);
    if (failure !== undefined) throw failure;
    return this.height;
  }

  async getBlockByHeight(height: bigint, signal?: AbortSignal): Promise<PChainBlock> {
    signal?.throwIfAborted();
    if (this.hangs) {
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    }
    const failure = this.failure?.(height);
    if (failure !== undefined) throw failure;
    if (height > this.height) {
      throw new ApiError('rejected', 'no such block', { rejection: { code: -32_000, message: 'not found' } });
    }
    this.reads.push(height);
    return {
      height,
      id: this.#id(height),
      parentID: this.isScrambled ? 'nonsense' : height === 0n ? 'none' : this.#id(height - 1n),
      timestamp: this.genesisTime + height,
      origins: (this.registrations.get(height) ?? []).map(originOf),
    };
  }

  /** How often each height was read, of those read more than once. */
  get rereads(): Map<bigint, number> {
    const counts = new Map<bigint, number>();
    for (const height of this.reads) counts.set(height, (counts.get(height) ?? 0) + 1);
    return new Map([...counts].filter(([, count]) => count > 1));
  }

  #id(height: bigint): string {
    const branch = this.branches.findLast(({ from }) => from <= height)?.name ?? '';
    return idFromBytes(new Uint8Array(hash('sha256', `${branch} ${height}`, 'buffer')), 'id');
  }
}
