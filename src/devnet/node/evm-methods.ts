import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { type JsonObject, readArray, readObject, readString } from '../../pchain/codec/json-fields.ts';
import { GET_BLOCKCHAIN_ID, WARP_PRECOMPILE } from '../../pchain/codec/send-warp-log.ts';
import { idBytes } from '../../warp/ids.ts';
import type { EvmChain, EvmLog } from '../pchain/evm-chain.ts';
import { MethodError, type Methods } from './node-api-methods.ts';

/** Tags of the last block. The last accepted one is also the safe and the final one. */
const BLOCK_TAGS: ReadonlySet<string> = new Set(['latest', 'safe', 'finalized', 'accepted']);

/** Characters of a hash with `0x`. */
const HASH_LENGTH = 66;

/** The methods under `/ext/bc/<chain>/rpc` of an EVM chain (coreth `internal/ethapi/api.go`). */
export function createEvmMethods(chain: EvmChain): Methods {
  return {
    eth_call: ({ 0: call }) => {
      const { to, data } = readObject(call, 'call');
      if (to !== WARP_PRECOMPILE || data !== GET_BLOCKCHAIN_ID) {
        throw new MethodError(
          'this network runs no contracts: of the Warp precompile, getBlockchainID() can be called',
        );
      }
      return `0x${bytesToHex(idBytes(chain.blockchainID))}`;
    },
    eth_chainId: () => `0x${chain.evmChainID.toString(16)}`,
    eth_getBlockByNumber: ({ 0: number, 1: isFull }) => {
      if (isFull === true) throw new MethodError('this network has blocks with the hashes of their transactions only');
      return chain.block(readBlock(chain, number) ?? chain.height) ?? null;
    },
    eth_getBlockReceipts: ({ 0: block }) => {
      const text = readString(block, 'block');
      const number = text.length === HASH_LENGTH ? chain.heightOf(text) : readBlock(chain, text);
      return (number !== undefined && chain.blockReceipts(number)) || null;
    },
    eth_blockNumber: () => `0x${chain.height.toString(16)}`,
    eth_getTransactionReceipt: ({ 0: hash }) => chain.receipt(readString(hash, 'hash')) ?? null,
    eth_getLogs: (params) => getLogs(chain, params),
    eth_getChainConfig: () => chain.chainConfig,
  };
}

/** Returns a height; undefined without a value. @throws {MethodError} */
function readBlock(chain: EvmChain, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const text = readString(value, 'block');
  if (text === 'earliest') return 0;
  if (BLOCK_TAGS.has(text)) return chain.height;
  if (!/^0x[0-9a-f]{1,12}$/.test(text)) throw new MethodError('invalid block number');
  return Number(text);
}

function getLogs(chain: EvmChain, { blockHash, fromBlock, toBlock, address, topics }: JsonObject): readonly EvmLog[] {
  const logs = chain.logs({
    blockHash: blockHash === undefined ? undefined : readString(blockHash, 'blockHash'),
    fromBlock: readBlock(chain, fromBlock) ?? chain.height,
    toBlock: readBlock(chain, toBlock) ?? chain.height,
  });
  const wantedTopics = readArray(topics ?? [], 'topics');
  return logs.filter(
    (log) =>
      isWanted(address, log.address) && wantedTopics.every((wanted, index) => isWanted(wanted, log.topics[index])),
  );
}

/** @param wanted one value, several, or any */
function isWanted(wanted: unknown, value: string | undefined): boolean {
  const isAny = wanted === undefined || wanted === null;
  return isAny || wanted === value || (Array.isArray(wanted) && wanted.includes(value));
}
