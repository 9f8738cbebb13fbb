import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import {
  encodeAbiParameters,
  type Hex,
  toHex as hexOf,
  keccak256,
  parseTransaction,
  type TransactionSerializableEIP1559,
  type TransactionSerialized,
  toFunctionSelector,
} from 'viem';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { idBytes } from '../../../src/warp/ids.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { parseTeleporterMessage } from '../../../src/warp/teleporter-message.ts';

export const TELEPORTER = '0x253b2784c75e510dd0ff1da844684a1ac0aa5fcf';
const RECEIVED = toFunctionSelector('function messageReceived(bytes32)');

/** Calls of which a test decides what happens around them. */
export type Moment = 'before' | 'after';
/** Returns whether the call is lost. */
export type Hook = (method: string, moment: Moment) => boolean;

/** An EVM RPC with one account and a Teleporter contract, which makes a block when it is asked for the nonce. */
export interface SimulatedDestination extends AsyncDisposable {
  readonly url: string;
  /** Nonces of Teleporter messages by the transactions that delivered them, in their order. */
  readonly delivered: readonly bigint[];
  /** Transactions that reverted, since their message was received before. */
  readonly reverted: readonly Hex[];
  hook: Hook;
}

/** @param chainID of the destination, 32 bytes in hex */
export async function startDestination(chainID: Hex): Promise<SimulatedDestination> {
  const receipts = new Map<Hex, 'received' | 'reverted'>();
  const received = new Set<Hex>();
  const delivered: bigint[] = [];
  const reverted: Hex[] = [];

  /** What was sent since the last block. */
  const pool: TransactionSerialized[] = [];

  function send(raw: TransactionSerialized): Hex {
    const hash = keccak256(raw);
    const { nonce } = parseTransaction(raw);
    if (receipts.has(hash) || pool.includes(raw)) throw new Error('already known');
    if (nonce !== receipts.size + pool.length) throw new Error(`the nonce is ${nonce}`);
    pool.push(raw);
    return hash;
  }

  function include(raw: TransactionSerialized): void {
    const hash = keccak256(raw);
    const { to, accessList = [] } = parseTransaction(raw) as TransactionSerializableEIP1559;
    const predicate = accessList.flatMap(({ storageKeys }) => storageKeys.map((key) => key.slice(2))).join('');
    const { unsignedMessage } = parseSignedMessage(parseHex(predicate.replace(/ff(00)*$/, ''), 'predicate'));
    const call = parseWarpPayload(unsignedMessage.payload);
    if (call.kind !== 'AddressedCall' || to !== TELEPORTER) throw new Error('not for Teleporter');
    const { messageNonce } = parseTeleporterMessage(call.payload);
    const id = messageIdOf(hexOf(idBytes(unsignedMessage.sourceChainID)), chainID, messageNonce);
    receipts.set(hash, received.has(id) ? 'reverted' : 'received');
    if (received.has(id)) reverted.push(hash);
    else delivered.push(messageNonce);
    received.add(id);
  }

  const methods: Record<string, (first: never) => unknown> = {
    eth_chainId: () => '0x1',
    eth_getBlockByNumber: () => ({ number: '0x1', baseFeePerGas: '0x1', transactions: [], timestamp: '0x1' }),
    eth_maxPriorityFeePerGas: () => '0x1',
    // A block is made just before: the worst moment for a program that has asked before whether its message was received.
    eth_getTransactionCount() {
      for (const raw of pool.splice(0)) include(raw);
      return `0x${receipts.size.toString(16)}`;
    },
    eth_sendRawTransaction: send,
    eth_call: ({ data }: { readonly data: Hex }) =>
      data.startsWith(RECEIVED) ? `0x${(received.has(`0x${data.slice(10)}`) ? '1' : '0').padStart(64, '0')}` : chainID,
    eth_getTransactionReceipt: (hash: Hex) =>
      receipts.has(hash)
        ? { transactionHash: hash, status: receipts.get(hash) === 'received' ? '0x1' : '0x0', logs: [] }
        : null,
  };
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method, params = [] } = (await json(request)) as { id: number; method: string; params?: never[] };
    if (destination.hook(method, 'before')) return;
    try {
      const result = methods[method]?.(params[0] as never);
      if (destination.hook(method, 'after')) return;
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    } catch (error) {
      const { message } = error as Error;
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message } }));
    }
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const destination: SimulatedDestination = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    delivered,
    reverted,
    hook: () => false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
  return destination;
}

function messageIdOf(source: Hex, destination: Hex, nonce: bigint): Hex {
  const types = [{ type: 'address' }, { type: 'bytes32' }, { type: 'bytes32' }, { type: 'uint256' }] as const;
  return keccak256(encodeAbiParameters(types, [TELEPORTER, source, destination, nonce]));
}
