import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endOfBlock, type FeedMessage } from '../../src/feed/feed-message.ts';
import { openMessageStore } from '../../src/feed/message-store.ts';
import { prefixedHex } from '../../src/lib/encoding/bytes.ts';
import type { BlockchainID } from '../../src/warp/ids.ts';
import { type ServiceChild, startServiceChild } from '../integration/service/service-child.ts';
import { callJsonRpc } from './json-rpc.ts';
import { useRealNetwork } from './network-fixture.ts';
import { pollUntil } from './poll-until.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';
import { emitMessages, expectAccepted } from './warp-messages.ts';

/** The feed on real nodes: a process that watches the C-Chain by a web socket and the L1 by polling, and is killed while messages are sent. */

const KILLS = 3;
/** Messages on each chain. */
const MESSAGES = Number(process.env['FEED_MESSAGES'] ?? 40);
const PER_ROUND = Math.ceil(MESSAGES / (KILLS + 1));
const SIGNED_TIMEOUT_MS = 90_000;
const METRIC = 'signature_aggregator_feed_';
/** Of a private network. */
const NETWORK_ID = 12_345;

const network = useRealNetwork();

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'service-feed-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** The block after the head: other tests have emitted messages before. */
async function nextBlockOf(chain: string): Promise<number> {
  const url = `${network().nodes[0]?.apiUrl}/ext/bc/${chain}/rpc`;
  return Number(await callJsonRpc<string>(url, 'eth_blockNumber', [])) + 1;
}

function startWatching(fromBlocks: { readonly c: number; readonly l1: number }): Promise<ServiceChild> {
  const { nodes, l1ChainID } = network();
  const apiUrl = nodes[0]?.apiUrl ?? '';
  const chains = [
    { blockchainId: 'C', webSocket: `${apiUrl.replace('http', 'ws')}/ext/bc/C/ws`, fromBlock: fromBlocks.c },
    { blockchainId: l1ChainID, fromBlock: fromBlocks.l1 },
  ];
  return startServiceChild({
    networks: { local: { pChainApi: [{ baseUrl: apiUrl }], feed: { chains } } },
    server: { port: 0 },
    log: { level: 'debug' },
    store: { path: directory },
  });
}

/** Emits messages on both chains, and returns them by chain. Calls back when those of one chain are accepted. */
async function emitRound(round: number, onFirst: () => void): Promise<ReadonlyMap<string, readonly string[]>> {
  const { cChainID, l1ChainID } = network();
  const emissions = [cChainID, l1ChainID].map(async (chain) => {
    const payloads = Array.from(
      { length: PER_ROUND },
      (_, index) => `0xfeed0${round}${index.toString(16).padStart(4, '0')}`,
    );
    const messages = await emitMessages(network(), chain, payloads);
    return [chain, messages.map(({ message }) => message)] as const;
  });
  await Promise.race(emissions);
  onFirst();
  return new Map(await Promise.all(emissions));
}

async function awaitSigned(service: ServiceChild, count: number): Promise<void> {
  await pollUntil(
    async () => {
      const { text } = await service.get('/metrics');
      const valueOf = (name: string) => Number(new RegExp(`^${METRIC}${name}{.*} (.*)$`, 'm').exec(text)?.[1]);
      return { stored: valueOf('messages_stored'), oldest: valueOf('oldest_unsigned_seconds') };
    },
    ({ stored, oldest }) => stored >= count && oldest === 0,
    SIGNED_TIMEOUT_MS,
  );
}

test('each message of the C-Chain and the L1 is stored in order and signed, though the service is killed', async () => {
  const { cChainID, l1ChainID, subnetID } = network();
  const fromBlocks = { c: await nextBlockOf('C'), l1: await nextBlockOf(l1ChainID) };
  const sent = new Map<string, string[]>([cChainID, l1ChainID].map((chain) => [chain, []]));
  for (let round = 0; round <= KILLS; round += 1) {
    await using service = await startWatching(fromBlocks);
    await service.url();
    const isLast = round === KILLS;
    const emitted = await emitRound(round, () => {
      if (!isLast) service.child.kill('SIGKILL');
    });
    for (const [chain, messages] of emitted) sent.get(chain)?.push(...messages);
    if (isLast) await awaitSigned(service, 2 * PER_ROUND * (KILLS + 1));
  }
  using store = openMessageStore({ directory, networkID: NETWORK_ID, name: 'local' });
  for (const [chain, subnet] of [
    [cChainID, PRIMARY_NETWORK_ID],
    [l1ChainID, subnetID],
  ] as const) {
    const stored = store.page({ after: new Map([[chain as BlockchainID, endOfBlock(0)]]), limit: 100_000 });
    const own = stored.filter(({ message }) => sent.get(chain)?.includes(prefixedHex(message.bytes)) === true);
    expect(own.map(({ message }) => prefixedHex(message.bytes))).toEqual(sent.get(chain));
    expect(new Set(own.map(({ outcome }) => outcome.status))).toEqual(new Set(['signed']));
    console.log(`${chain}: ${own.length} of ${sent.get(chain)?.length} signed, from the receipt on: ${delaysOf(own)}`);
    const last = own.at(-1)?.outcome;
    if (last?.status !== 'signed') throw new Error('the last message is not signed');
    await expectAccepted(network(), prefixedHex(last.signedMessage), { subnetID: subnet, height: last.pChainHeight });
  }
});

/** Times from the receipt, as the feed saw it, to the signature, of the messages that were read as they were executed. */
function delaysOf(messages: readonly FeedMessage[]): string {
  const delays = messages
    .slice(-PER_ROUND)
    .flatMap(({ executedMs, outcome }) => (outcome.status === 'signed' ? [outcome.signedMs - executedMs] : []))
    .toSorted((a, b) => a - b);
  const at = (share: number) => `${delays[Math.floor(share * (delays.length - 1))]} ms`;
  return `median ${at(0.5)}, p95 ${at(0.95)}`;
}
