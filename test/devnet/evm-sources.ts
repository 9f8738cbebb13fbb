import type { EvmChain } from '../../src/devnet/pchain/evm-chain.ts';
import { type BlockSource, createBlockSource } from '../../src/feed/blocks/block-source.ts';
import type { Clock } from '../../src/lib/concurrency/clock.ts';
import { createEvmApi } from '../../src/pchain/rpc/evm-api.ts';
import { createJsonRpcClient } from '../../src/pchain/rpc/json-rpc.ts';
import { createUnreadMetrics } from '../../src/telemetry/metrics.ts';
import type { EvmFault } from './evm-faults.ts';
import { createEvmRpc, type EvmRpc } from './evm-rpc.ts';

/** Limits of a service with the default settings. */
const LIMITS = { attemptTimeoutMs: 4_000, callTimeoutMs: 10_000 };

/** An RPC of a chain of the devnet, and the blocks that a feed reads from it. */
export interface FaultySource {
  readonly rpc: EvmRpc;
  readonly source: BlockSource;
}

/** Opens the C-Chain of a devnet by an RPC with a fault. */
export function openFaultySource(chain: EvmChain, clock: Clock, fault: EvmFault | undefined): FaultySource {
  const rpc = Object.assign(createEvmRpc(chain, clock), { fault });
  const { openHttp } = rpc;
  const endpoints = [{ baseUrl: 'http://rpc' }];
  const metrics = createUnreadMetrics();
  const client = createJsonRpcClient({ endpoints, clock, random: () => 0.5, metrics, openHttp, limits: LIMITS });
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map([['C', client]]) });
  return { rpc, source: createBlockSource(evm, 'C', chain.blockchainID) };
}
