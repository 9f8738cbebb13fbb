import { createWalletClient, type Hex, http, parseEther, publicActions } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { expect, test } from 'vitest';
import { prefixedHex } from '../../src/lib/encoding/bytes.ts';
import { type BlockchainID, idBytes } from '../../src/warp/ids.ts';
import { startServiceChild } from '../integration/service/service-child.ts';
import { createExampleFolder, DeliveryProcess } from '../support/example-folder.ts';
import { callJsonRpc } from './json-rpc.ts';
import { useRealNetwork } from './network-fixture.ts';
import { pollUntil } from './poll-until.ts';
import { readTeleporterCreationCode, TELEPORTER_ABI } from './teleporter.ts';

/** examples/deliver.ts on real nodes: from the L1 to the contract of Teleporter on the C-Chain, through kills. */

const KILLS = 5;
const MESSAGES = KILLS + 1;
/** The well-known key of local networks, which has their funds. */
const FUNDS_KEY = '0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027';
const FUNDS = parseEther('100');
const GAS_OF_EXECUTION = 100_000n;
const TIMEOUT_MS = 120_000;
const PENDING_POLL_MS = 2;

const network = useRealNetwork(async ({ awaitEpoch, cChainID, conversionHeight }) => {
  await awaitEpoch(cChainID, conversionHeight);
});

function rpcOf(chain: string): string {
  return `${network().nodes[0]?.apiUrl}/ext/bc/${chain}/rpc`;
}

function openChain(chain: string, account: PrivateKeyAccount) {
  return createWalletClient({ account, transport: http(rpcOf(chain)), pollingInterval: 200 }).extend(publicActions);
}

async function fund(chain: string, { address: to }: PrivateKeyAccount): Promise<void> {
  const wallet = openChain(chain, privateKeyToAccount(FUNDS_KEY));
  const hash = await wallet.sendTransaction({ to, value: FUNDS, chain: null });
  await wallet.waitForTransactionReceipt({ hash });
}

/** Creates the contract at one address of both chains. */
async function createTeleporter(account: PrivateKeyAccount, chains: readonly string[]): Promise<Hex> {
  const data = await readTeleporterCreationCode();
  const addresses: unknown[] = [];
  for (const chain of chains) {
    await fund(chain, account);
    const wallet = openChain(chain, account);
    const hash = await wallet.sendTransaction({ data, chain: null });
    addresses.push((await wallet.waitForTransactionReceipt({ hash })).contractAddress);
  }
  const [address] = addresses;
  expect(addresses).toEqual(chains.map(() => address));
  return address as Hex;
}

/** Sends messages that no contract receives, which Teleporter counts as received. Returns their IDs. */
async function sendMessages(sender: PrivateKeyAccount, address: Hex): Promise<readonly Hex[]> {
  const { l1ChainID, cChainID } = network();
  const source = openChain(l1ChainID, sender);
  const destinationBlockchainID = prefixedHex(idBytes(cChainID as BlockchainID)) as Hex;
  const input = {
    destinationBlockchainID,
    destinationAddress: sender.address,
    feeInfo: { feeTokenAddress: `0x${'0'.repeat(40)}`, amount: 0n },
    requiredGasLimit: GAS_OF_EXECUTION,
    allowedRelayerAddresses: [],
    message: '0x01',
  } as const;
  const sending = { address, abi: TELEPORTER_ABI, functionName: 'sendCrossChainMessage', args: [input] } as const;
  const ids: Hex[] = [];
  for (let index = 0; index < MESSAGES; index += 1) {
    const hash = await source.writeContract({ ...sending, chain: null });
    const { logs } = await source.waitForTransactionReceipt({ hash });
    // SendCrossChainMessage(messageID, destinationBlockchainID, …)
    const sent = logs.find((log) => log.address === address && log.topics[2] === destinationBlockchainID);
    ids.push(sent?.topics[1] as Hex);
  }
  return ids;
}

test(
  'examples/deliver.ts delivers each message of the L1 by one transaction, though it is killed five times',
  async () => {
    const { l1ChainID, cChainID, nodes } = network();
    const KEY = generatePrivateKey();
    const [sender, relayer] = [privateKeyToAccount(generatePrivateKey()), privateKeyToAccount(KEY)];
    const teleporter = await createTeleporter(sender, [l1ChainID, cChainID]);
    await fund(cChainID, relayer);
    const fromBlock = Number(await callJsonRpc(rpcOf(l1ChainID), 'eth_blockNumber', [])) + 1;
    await using service = await startServiceChild({
      networks: {
        local: {
          pChainApi: [{ baseUrl: nodes[0]?.apiUrl }],
          feed: { chains: [{ blockchainId: l1ChainID, fromBlock }] },
        },
      },
      server: { port: 0 },
    });
    using folder = await createExampleFolder();
    const ids = await sendMessages(sender, teleporter);

    const destination = openChain(cChainID, relayer);
    const variables = {
      BASE: await service.url(),
      NETWORK_NAME: 'local',
      DESTINATION_RPC: rpcOf(cChainID),
      KEY,
      TELEPORTER: teleporter,
    };
    const killed = new Set<string>();
    for (let kill = 0; kill < KILLS; kill += 1) {
      await using life = new DeliveryProcess(folder, variables);
      const isNew = (hash: string | undefined): hash is string => hash !== undefined && !killed.has(hash);
      const hash = await pollUntil(async () => life.pending(), isNew, TIMEOUT_MS, PENDING_POLL_MS);
      killed.add(hash as string);
      // As soon as the transaction is written, and when the chain has it.
      if (kill % 2 === 0) continue;
      const find = () => callJsonRpc(rpcOf(cChainID), 'eth_getTransactionByHash', [hash]);
      await pollUntil(find, (found) => found !== null, TIMEOUT_MS, PENDING_POLL_MS);
    }
    await using last = new DeliveryProcess(folder, variables);
    const received = () =>
      Promise.all(
        ids.map((id) =>
          destination.readContract({
            address: teleporter,
            abi: TELEPORTER_ABI,
            functionName: 'messageReceived',
            args: [id],
          }),
        ),
      );
    await pollUntil(received, (all) => all.every(Boolean), TIMEOUT_MS);
    await pollUntil(
      async () => last.pending(),
      (hash) => hash === undefined,
      TIMEOUT_MS,
    );
    const counts = (['latest', 'pending'] as const).map((blockTag) =>
      destination.getTransactionCount({ address: relayer.address, blockTag }),
    );
    expect(await Promise.all(counts)).toEqual([MESSAGES, MESSAGES]);
  },
  3 * TIMEOUT_MS,
);
