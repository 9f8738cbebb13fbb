import { afterAll, expect, test } from 'vitest';
import { useRealNetwork } from './network-fixture.ts';
import { pollUntil } from './poll-until.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { expectAccepted } from './warp-messages.ts';

/** Requests by the hash of a transaction, made before the transaction is sent, as an application makes them that does not poll. */

const TRANSACTIONS = 20;
const ACCEPTED_TIMEOUT_MS = 30_000;

const opened = new AsyncDisposableStack();
let service: ServiceProcess;

const network = useRealNetwork(async (started) => {
  service = opened.use(await startServiceProcess(started));
  await service.awaitAllConnected();
  await started.awaitProposedHeight(started.conversionHeight);
});
afterAll(() => opened.disposeAsync());

test('requests that wait are answered once their transactions were executed, on the C-Chain and on an L1', async () => {
  const { cChainID, l1ChainID, subnetID } = network();
  const [ofC, ofL1] = await Promise.all([delaysOn(cChainID), delaysOn(l1ChainID, subnetID)]);
  for (const [chain, delays] of [
    ['the C-Chain', ofC],
    ['the L1', ofL1],
  ] as const) {
    expect(delays).toHaveLength(TRANSACTIONS);
    const [median, longest] = [delays[delays.length >> 1], delays.at(-1)].map((ms) => `${ms?.toFixed(0)} ms`);
    console.log(
      `${chain}: ${delays.length} of ${TRANSACTIONS} signed, after execution: median ${median}, longest ${longest}`,
    );
  }
});

/** Sends transactions one after the other, each with a request that waits for it; returns how long after its execution each was answered. */
async function delaysOn(blockchainID: string, subnetID = PRIMARY_NETWORK_ID): Promise<readonly number[]> {
  const payloads = Array.from({ length: TRANSACTIONS }, (_, i) => `0x77${i.toString(16).padStart(2, '0')}`);
  const delays: number[] = [];
  for (const { txHash, rawTransaction } of await network().onChain('signWarpMessages', { blockchainID, payloads })) {
    const asked = service.aggregateOf(txHash, `?blockchainId=${blockchainID}&wait=10`);
    const answered = asked.then((answer) => ({ answer, atMs: performance.now() }));
    const path = `/ext/bc/${blockchainID}/rpc`;
    await network().callApi(path, 'eth_sendRawTransaction', [rawTransaction]);
    await pollUntil(
      () => network().callApi<object | null>(path, 'eth_getTransactionReceipt', [txHash]),
      (receipt) => receipt !== null,
      ACCEPTED_TIMEOUT_MS,
    );
    const executedMs = performance.now();
    const { answer, atMs } = await answered;
    expect(answer).toMatchObject({ status: 201 });
    await expectAccepted(network(), answer.body.signedMessage, { subnetID });
    delays.push(atMs - executedMs);
  }
  return delays.toSorted((a, b) => a - b);
}
