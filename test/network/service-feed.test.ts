import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { MessagePageBody } from '../../src/api/feed/feed-records.ts';
import { fromReceipt, type ReceiptLog } from '../../src/client/warp-messages.ts';
import { type ServiceChild, startServiceChild } from '../integration/service/service-child.ts';
import { callJsonRpc } from './json-rpc.ts';
import { type Delivery, firstOfEach, lateDuplicates, readThroughKills, repeatedOnConnection } from './killed-reader.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { pollUntil } from './poll-until.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';
import { expectAccepted } from './warp-messages.ts';

/**
 * The feed on real nodes: messages on two chains in block after block, while the service and its reader are killed.
 *
 * `FEED_MESSAGES=500 FEED_KILLS=10 npm run test:network -- service-feed` takes some twenty minutes: the node whose RPC is read is killed as often as the
 * service, and the second reading of the blocks is awaited.
 */

const { FEED_MESSAGES = '40', FEED_KILLS } = process.env;
/** Messages on each chain. */
const MESSAGES = Number(FEED_MESSAGES);
const SERVICE_KILLS = Number(FEED_KILLS ?? 3);
const IS_LONG = FEED_KILLS !== undefined;
const READER_KILLS = 10;
const PER_BLOCK = 3;
/** The last round has no kills. */
const PER_ROUND = Math.ceil(MESSAGES / (SERVICE_KILLS + 1));
const TOTAL = 2 * PER_ROUND * (SERVICE_KILLS + 1);
const TIMEOUT_MS = 300_000 + 2_000 * MESSAGES + (IS_LONG ? 1_200_000 : 0);
const RECEIPT_TIMEOUT_MS = 30_000;
/** Messages that were emitted while there was no service are signed first. */
const CAUGHT_UP_TIMEOUT_MS = 180_000;
/** Blocks are read again some minutes after the first time. */
const CONFIRMED_TIMEOUT_MS = 900_000;
/** Short beside the time that is measured from a receipt on. */
const RECEIPT_POLL_MS = 4;

/** A message whose receipt the node has. */
interface Emission {
  readonly messageId: string;
  /** When the node had its receipt, in Unix milliseconds. */
  readonly receiptMs: number;
}

const network = useRealNetwork();

const directory = mkdtempSync(join(tmpdir(), 'service-feed-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function rpcOf(chain: string, { apiUrl } = network().nodes[0] as NetworkNode): string {
  return `${apiUrl}/ext/bc/${chain}/rpc`;
}

/** The node whose blocks are read. The last one is no validator of the L1. */
function readNode(): NetworkNode {
  return network().nodes.at(IS_LONG ? -1 : 0) as NetworkNode;
}

interface Watching {
  /** The first blocks: other tests have emitted messages before. */
  readonly fromBlocks: Readonly<Record<string, number>>;
  /** Chains without a web socket. */
  readonly polled: readonly string[];
  readonly port: number;
}

function startWatching({ fromBlocks, polled, port }: Watching): Promise<ServiceChild> {
  const chains = Object.entries(fromBlocks).map(([blockchainId, fromBlock]) => ({
    blockchainId,
    fromBlock,
    ...(!polled.includes(blockchainId) && {
      webSocket: rpcOf(blockchainId, readNode()).replace('http', 'ws').replace(/rpc$/, 'ws'),
    }),
  }));
  const rpcs = Object.keys(fromBlocks).map((id) => [id, { baseUrl: rpcOf(id, readNode()) }]);
  const chainRpc = IS_LONG ? Object.fromEntries(rpcs) : {};
  return startServiceChild({
    networks: { local: { pChainApi: [{ baseUrl: network().nodes[0]?.apiUrl }], chainRpc, feed: { chains } } },
    server: { port },
    log: { level: 'debug' },
    store: { path: directory },
  });
}

/** Emits the messages of a round in one block after the other. @param onBlock called before each block, with the messages so far */
async function emitRound(chain: string, round: number, onBlock: (count: number) => void): Promise<readonly Emission[]> {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  const payloads = Array.from({ length: PER_ROUND }, (_, index) => `0xfeed${hex(round, 2)}${hex(index, 4)}`);
  const transactions = await network().onChain('signWarpMessages', { blockchainID: chain, payloads });
  const emissions: Emission[] = [];
  for (let first = 0; first < transactions.length; first += PER_BLOCK) {
    onBlock(first);
    const ofBlock = transactions.slice(first, first + PER_BLOCK);
    for (const { rawTransaction } of ofBlock) {
      await callJsonRpc(rpcOf(chain), 'eth_sendRawTransaction', [rawTransaction]);
    }
    for (const { txHash } of ofBlock) {
      const receipt = await receiptOf(chain, txHash);
      const receiptMs = Date.now();
      emissions.push(...fromReceipt(receipt).map(({ messageId }) => ({ messageId, receiptMs })));
    }
  }
  return emissions;
}

async function receiptOf(chain: string, txHash: string): Promise<{ readonly logs: readonly ReceiptLog[] }> {
  const receipt = await pollUntil(
    () => callJsonRpc<{ logs: ReceiptLog[] } | null>(rpcOf(chain), 'eth_getTransactionReceipt', [txHash]),
    (found) => found !== null,
    RECEIPT_TIMEOUT_MS,
    RECEIPT_POLL_MS,
  );
  return receipt ?? { logs: [] };
}

test(
  'no message of the C-Chain and the L1 is missing, though the service and the reader are killed',
  async () => {
    const { cChainID, l1ChainID, subnetID } = network();
    const heads = [cChainID, l1ChainID].map(
      async (chain) => [chain, Number(await callJsonRpc(rpcOf(chain), 'eth_blockNumber', [])) + 1] as const,
    );
    const fromBlocks = Object.fromEntries(await Promise.all(heads));
    const sent: Record<string, Emission[]> = { [cChainID]: [], [l1ChainID]: [] };
    let reading: Promise<readonly Delivery[]> | undefined;
    let port = 0;
    for (let round = 0; round <= SERVICE_KILLS; round += 1) {
      const isLast = round === SERVICE_KILLS;
      // The last round has web sockets alone, for the times below.
      await using service = await startWatching({ fromBlocks, port, polled: isLast ? [] : [l1ChainID] });
      const baseUrl = await service.url();
      port = Number(new URL(baseUrl).port);
      const killEvery = Math.floor((2 * PER_ROUND * SERVICE_KILLS) / READER_KILLS);
      const reader = { baseUrl, network: 'local', kills: READER_KILLS, killEvery, until: TOTAL };
      reading ??= readThroughKills({ ...reader, timeoutMs: TIMEOUT_MS });
      if (isLast) await awaitReader(service);
      let restarted: Promise<void> | undefined;
      const onBlock = (count: number): void => {
        if (isLast) return;
        if (IS_LONG && count >= PER_ROUND / 4) restarted ??= restart(readNode());
        if (count >= PER_ROUND / 2) service.child.kill('SIGKILL');
      };
      const emissions = Object.keys(sent).map(async (chain) => {
        sent[chain]?.push(...(await emitRound(chain, round, onBlock)));
      });
      await Promise.all(emissions);
      await restarted;
      if (isLast) await reading;
      if (isLast && IS_LONG) await awaitConfirmed(service);
    }
    const deliveries = (await reading) ?? [];
    for (const [chain, signers] of [
      [cChainID, PRIMARY_NETWORK_ID],
      [l1ChainID, subnetID],
    ] as const) {
      const emitted = sent[chain] ?? [];
      const own = deliveries.filter(({ message }) => message.sourceBlockchainId === chain);
      const signed = own.filter(({ message }) => message.status === 'signed');
      const ids = emitted.map(({ messageId }) => messageId);
      // One that is signed late comes late: the order is that of changes.
      expect(new Set(firstOfEach(own).map(({ message }) => message.messageId))).toEqual(new Set(ids));
      expect(new Set(signed.map(({ message }) => message.messageId))).toEqual(new Set(ids));
      const { signedMessage = '', pChainHeight = 0 } = signed.at(-1)?.message ?? {};
      await expectAccepted(network(), signedMessage, { subnetID: signers, height: BigInt(pChainHeight) });
      console.log(
        `${chain}: ${ids.length} emitted, ${own.length} received; ${delays(emitted.slice(-PER_ROUND), signed)}`,
      );
    }
    expect(repeatedOnConnection(deliveries)).toEqual([]);
    expect(lateDuplicates(deliveries)).toEqual([]);
    // Each kill of the reader leaves one message unprocessed, which comes again.
    const repeated =
      deliveries.length -
      new Set(deliveries.map(({ message: { messageId, status } }) => `${messageId} ${status}`)).size;
    expect(repeated).toBeGreaterThanOrEqual(READER_KILLS);
  },
  TIMEOUT_MS,
);

async function restart(node: NetworkNode): Promise<void> {
  await node.kill();
  await node.start();
}

/** Waits until all blocks were read a second time. */
async function awaitConfirmed(service: ServiceChild): Promise<void> {
  const read = async () => {
    const page = await service.get('/v1/signatureAggregator/local/messages?after=recent&limit=1');
    return (page.json() as Pick<MessagePageBody, 'chains'>).chains;
  };
  const startMs = performance.now();
  await pollUntil(
    read,
    (chains) => chains.every(({ confirmed, watermark }) => confirmed === watermark.blockNumber),
    CONFIRMED_TIMEOUT_MS,
    1_000,
  );
  const { text } = await service.get('/metrics');
  const missed = text.split('\n').filter((line) => line.includes('outcome="missed"'));
  console.log(`confirmed after ${Math.round((performance.now() - startMs) / 1_000)} s; ${missed.join('; ')}`);
}

/** Waits until the service is ready and has signed all so far, and the reader has connected to it again. */
async function awaitReader(service: ServiceChild): Promise<void> {
  const read = async () => {
    const [{ status }, { text }] = await Promise.all([service.get('/health/ready/local'), service.get('/metrics')]);
    const valueOf = (name: string) =>
      Number(new RegExp(`^signature_aggregator_feed_${name}{.*} (.*)$`, 'm').exec(text)?.[1]);
    return { status, readers: valueOf('readers'), unsignedSeconds: valueOf('oldest_unsigned_seconds') };
  };
  const isCaughtUp = ({ status, readers, unsignedSeconds }: Awaited<ReturnType<typeof read>>) =>
    status === 200 && readers === 1 && unsignedSeconds === 0;
  await pollUntil(read, isCaughtUp, CAUGHT_UP_TIMEOUT_MS);
}

/** Describes the times from the receipt at the node to the signed message at the reader, and their parts. */
function delays(emitted: readonly Emission[], signed: readonly Delivery[]): string {
  const arrivals = new Map(firstOfEach(signed).map((delivery) => [delivery.message.messageId, delivery]));
  const times = emitted.map(({ messageId, receiptMs }) => {
    const { message, atMs = Number.NaN } = arrivals.get(messageId) ?? {};
    const { executedAt = Number.NaN, signedAt = Number.NaN } = message ?? {};
    return { whole: atMs - receiptMs, parts: [executedAt - receiptMs, signedAt - executedAt, atMs - signedAt] };
  });
  const at = (share: number, values: readonly number[]) =>
    `${values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))]} ms`;
  const wholes = times.map(({ whole }) => whole);
  const [found, signing, sending] = [0, 1, 2].map((part) =>
    at(
      0.5,
      times.map(({ parts }) => parts[part] ?? Number.NaN),
    ),
  );
  return `from receipt to reader p50 ${at(0.5, wholes)}, p95 ${at(0.95, wholes)} (${found} until found, ${signing} until signed, ${sending} until received)`;
}
