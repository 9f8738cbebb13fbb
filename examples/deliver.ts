// Delivers the Teleporter messages of a feed to one chain, each with one transaction, also if it is killed at any moment:
//
//   BASE=http://127.0.0.1:8080 NETWORK_NAME=fuji DESTINATION_RPC=https://… KEY=0x… node deliver.ts
//
// Needs the packages warp-signature-aggregator-client and viem. Run one process for each key and destination, with a STATE of its own, and let a supervisor
// start it again: it ends at errors that it cannot mend. An operator removes STATE to read the feed from its oldest message.

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { createPublicClient, encodeAbiParameters, encodeFunctionData, type Hex, http, keccak256, parseAbi } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import {
  createClient,
  gasOfDelivery,
  type ReceivedMessage,
  type TeleporterMessage,
  toAccessList,
  WARP_PRECOMPILE,
} from 'warp-signature-aggregator-client';

const {
  BASE = 'http://127.0.0.1:8080',
  NETWORK_NAME = 'fuji',
  DESTINATION_RPC,
  KEY,
  REWARD_ADDRESS,
  STATE = 'deliver.json',
  TELEPORTER = '0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf',
} = process.env;
const ABI = parseAbi([
  'function getBlockchainID() view returns (bytes32)',
  'function messageReceived(bytes32 messageID) view returns (bool)',
  'function receiveCrossChainMessage(uint32 messageIndex, address relayerRewardAddress)',
]);
/** Gas of Teleporter itself: for each message, each byte of it, and each receipt in it. */
const MESSAGE_GAS = 350_000n;
const BYTE_GAS = 60n;
const RECEIPT_GAS = 60_000n;
const MAX_TRANSACTIONS = 5;
const PAUSE_MS = 1_000;

type Message = ReceivedMessage['message'];

interface State {
  /** The feed was delivered up to here. */
  readonly cursor?: string;
  /** The transaction that is sent, from before it is sent until its receipt is there. */
  readonly pending?: { readonly raw: Hex; readonly hash: Hex; readonly nonce: number } | undefined;
}

const client = createClient({ baseUrl: BASE.split(','), network: NETWORK_NAME });
const chain = createPublicClient({ transport: http(DESTINATION_RPC) });
const account = privateKeyToAccount(KEY as Hex);
const teleporter = TELEPORTER as Hex;
const chainId = await chain.getChainId();
const destination = await chain.readContract({ address: WARP_PRECOMPILE, abi: ABI, functionName: 'getBlockchainID' });
let state: State = existsSync(STATE) ? (JSON.parse(readFileSync(STATE, 'utf8')) as State) : {};

/** Replaces the file at once, so that a kill leaves the old state or the new one. */
function save(next: State): void {
  state = next;
  writeFileSync(`${STATE}.new`, JSON.stringify(next), { flush: true });
  renameSync(`${STATE}.new`, STATE);
}

function isReceived(sourceBlockchainId: Hex, { messageNonce }: TeleporterMessage): Promise<boolean> {
  const types = [{ type: 'address' }, { type: 'bytes32' }, { type: 'bytes32' }, { type: 'uint256' }] as const;
  const id = keccak256(encodeAbiParameters(types, [teleporter, sourceBlockchainId, destination, BigInt(messageNonce)]));
  return chain.readContract({ address: teleporter, abi: ABI, functionName: 'messageReceived', args: [id] });
}

/** Has the message signed for the destination's epoch of now, and signs the transaction that delivers it. */
async function prepare({ unsignedMessage }: Message, content: TeleporterMessage): Promise<State['pending']> {
  const request = { message: unsignedMessage, destinationBlockchainId: destination };
  const { signedMessage } = await client.sign(request);
  const bytes = BigInt(unsignedMessage.length / 2);
  const ownGas = MESSAGE_GAS + BYTE_GAS * bytes + RECEIPT_GAS * BigInt(content.receipts.length);
  // All transactions of the key come from here, and the one before has its receipt.
  const nonce = await chain.getTransactionCount({ address: account.address, blockTag: 'latest' });
  const raw = await account.signTransaction({
    ...(await chain.estimateFeesPerGas()),
    type: 'eip1559',
    chainId,
    nonce,
    to: teleporter,
    data: encodeFunctionData({
      abi: ABI,
      functionName: 'receiveCrossChainMessage',
      args: [0, (REWARD_ADDRESS ?? account.address) as Hex],
    }),
    accessList: toAccessList(signedMessage),
    // A node that estimates gas verifies no message.
    gas: gasOfDelivery(signedMessage) + BigInt(content.requiredGasLimit) + ownGas,
  });
  return { raw, hash: keccak256(raw), nonce };
}

/** Sends the written transaction until its receipt is there, or another one took its nonce, so that it never will. */
async function settle(): Promise<void> {
  while (state.pending !== undefined) {
    const { raw, hash, nonce } = state.pending;
    const problem = await chain.sendRawTransaction({ serializedTransaction: raw }).then(
      () => undefined,
      // Mostly that the node knows it already.
      (error: { readonly details?: string; readonly message: string }) => error.details ?? error.message,
    );
    await setTimeout(PAUSE_MS);
    // The count comes first: a transaction that it counts has a receipt afterwards.
    const count = await chain.getTransactionCount({ address: account.address, blockTag: 'latest' });
    const receipt = await chain.getTransactionReceipt({ hash }).catch((error: Error) => {
      if (error.name !== 'TransactionReceiptNotFoundError') throw error;
    });
    if (receipt === undefined && count <= nonce) {
      if (problem !== undefined) console.warn(`${hash} is not accepted yet: ${problem}`);
      continue;
    }
    console.log(`${hash}: ${receipt?.status ?? 'replaced'}`);
    save({ ...state, pending: undefined });
  }
}

async function deliver(message: Message): Promise<void> {
  const { payload, messageId, unsignedMessage } = message;
  const content = payload.kind === 'AddressedCall' ? payload.content : undefined;
  if (content?.kind !== 'TeleporterMessage') return;
  const relayers = content.allowedRelayerAddresses.map((address) => address.toLowerCase());
  if (relayers.length > 0 && !relayers.includes(account.address.toLowerCase())) return;
  // After the codec version and the network ID.
  const source: Hex = `0x${unsignedMessage.slice(12, 76)}`;
  for (let transactions = 0; !(await isReceived(source, content)); transactions++) {
    if (transactions === MAX_TRANSACTIONS) throw new Error(`${messageId} was not received: see ${account.address}`);
    save({ ...state, pending: await prepare(message, content) });
    await settle();
  }
}

await settle();
const from = state.cursor === undefined ? {} : { after: state.cursor };
const query = { status: 'signed', sender: teleporter, destinationBlockchainId: destination } as const;
for await (const { message, cursor } of client.messages({ ...query, ...from })) {
  await deliver(message);
  save({ cursor });
}
