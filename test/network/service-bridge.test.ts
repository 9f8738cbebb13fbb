import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createWalletClient, type Hex, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, expect, test } from 'vitest';
import { installPrograms } from '../../scripts/installed-packages.ts';
import { packClient } from '../../scripts/pack-client.ts';
import { prefixedHex } from '../../src/lib/encoding/bytes.ts';
import { type BlockchainID, idBytes, P_CHAIN_ID } from '../../src/warp/ids.ts';
import { snippetsOf } from '../support/page-snippets.ts';
import { useRealNetwork } from './network-fixture.ts';
import { deliveredMessage, RECEIVER_CREATION_CODE } from './receiver-contract.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** The snippets of docs/bridge.md, unchanged, from the contract call on one chain to the message in a contract of another chain. */

const ROOT = join(import.meta.dirname, '../..');
/** Has `cast`. */
const CAST = await installPrograms('test/support/cast');
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc');
const PAGE = 'docs/bridge.md';
/** The well-known key of local networks, which has their funds. */
const KEY = '0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027';
const HELLO = '0x68656c6c6f';
const MAX_LINES = 30;
const PROGRAM_TIMEOUT_MS = 60_000;

const opened = new AsyncDisposableStack();
let service: ServiceProcess;
const folder = mkdtempSync(join(tmpdir(), 'bridge-'));
opened.defer(() => rmSync(folder, { recursive: true, force: true }));
/** The contract that receives messages, by chain. */
const receivers = new Map<string, Hex>();

const network = useRealNetwork(async (started) => {
  const { cChainID, l1ChainID, subnetID, conversionHeight } = started;
  service = opened.use(await startServiceProcess(started, { trackedSubnetIds: [subnetID] }));
  await service.awaitAllConnected();
  const open = async (chain: string) => {
    await started.awaitEpoch(chain, conversionHeight);
    receivers.set(chain, await createReceiver(chain));
  };
  await Promise.all([cChainID, l1ChainID].map(open));
});
afterAll(() => opened.disposeAsync());

function rpcOf(chain: string): string {
  return `${network().nodes[0]?.apiUrl}/ext/bc/${chain}/rpc`;
}

function openChain(chain: string) {
  const transport = http(rpcOf(chain));
  const account = privateKeyToAccount(KEY);
  return createWalletClient({ account, transport, pollingInterval: 200 }).extend(publicActions);
}

async function createReceiver(chain: string): Promise<Hex> {
  const wallet = openChain(chain);
  const hash = await wallet.sendTransaction({ data: RECEIVER_CREATION_CODE, chain: null });
  const { contractAddress } = await wallet.waitForTransactionReceipt({ hash });
  return contractAddress as Hex;
}

interface Way {
  /** Undefined: the P-Chain. */
  readonly source: string | undefined;
  readonly destination: string;
}

/** The ways of the page, each with what the destination is to receive. */
function ways() {
  const { cChainID, l1ChainID, conversion } = network();
  const of = (chain: string) => ({ sourceChainID: prefixedHex(idBytes(chain as BlockchainID)) });
  const sent = { sender: privateKeyToAccount(KEY).address, payload: HELLO };
  const converted = { sender: `0x${'0'.repeat(40)}`, payload: expect.stringMatching(/^0x0000000000/) };
  return [
    { source: l1ChainID, destination: cChainID, received: { ...of(l1ChainID), ...sent } },
    { source: cChainID, destination: l1ChainID, received: { ...of(cChainID), ...sent } },
    { source: undefined, destination: l1ChainID, TX: conversion.txID, received: { ...of(P_CHAIN_ID), ...converted } },
  ];
}

/** The variables of the page. */
function variablesOf({ source, destination, TX }: Way & { readonly TX?: string }): NodeJS.ProcessEnv {
  return {
    PATH: `${CAST}:${process.env['PATH']}`,
    BASE: service.url,
    NETWORK: `${service.url}/v1/signatureAggregator/fuji`,
    KEY,
    DESTINATION: destination,
    DESTINATION_RPC: rpcOf(destination),
    RECEIVER: receivers.get(destination),
    ...(source !== undefined && { SOURCE_RPC: rpcOf(source) }),
    ...(TX !== undefined && { TX }),
  };
}

/** Returns what the contract of the chain receives while the program runs. */
async function receivedDuring(destination: string, program: () => Promise<unknown>) {
  const wallet = openChain(destination);
  const fromBlock = (await wallet.getBlockNumber()) + 1n;
  await program();
  const logs = await wallet.getLogs({ address: receivers.get(destination)!, fromBlock });
  return logs.map(({ data }) => deliveredMessage(data));
}

test('the commands of the page bring messages of an L1, the C-Chain and the P-Chain to their destinations', async () => {
  const commands = snippetsOf(PAGE, 'sh').filter((code) => !code.includes('/devnet/'));
  expect(commands).toHaveLength(4);
  for (const { received, ...way } of ways()) {
    // A message of the P-Chain was sent by its transaction.
    const ofWay = way.source === undefined ? commands.slice(1) : commands;
    const run = () =>
      promisify(execFile)('bash', ['-euo', 'pipefail', '-c', ofWay.join('\n')], {
        env: variablesOf(way),
        timeout: PROGRAM_TIMEOUT_MS,
      });
    expect(await receivedDuring(way.destination, run)).toEqual([received]);
  }
});

test('so do the thirty lines of TypeScript, with the package of the client and viem', async () => {
  const [sign = '', bridge = ''] = snippetsOf(PAGE, 'ts');
  expect(`${sign}${bridge}`.trimEnd().split('\n').length).toBeLessThanOrEqual(MAX_LINES);
  await installPackages();
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'sign.ts'), sign);
  writeFileSync(join(folder, 'bridge.ts'), bridge);
  const types = join(ROOT, 'node_modules', '@types');
  const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--skipLibCheck'];
  execFileSync(TSC, [...options, '--types', 'node', '--typeRoots', types, join(folder, 'bridge.ts')], {
    cwd: folder,
    stdio: 'inherit',
  });
  for (const { received, ...way } of ways()) {
    const run = async () => {
      const command = [process.execPath, [join(folder, 'bridge.js')]] as const;
      const { stdout } = await promisify(execFile)(...command, { env: variablesOf(way), timeout: PROGRAM_TIMEOUT_MS });
      expect(stdout).toBe('success\n');
    };
    expect(await receivedDuring(way.destination, run)).toEqual([received]);
  }
});

/** Installs the packed client and viem, as far as that needs no registry. */
async function installPackages(): Promise<void> {
  const modules = join(folder, 'node_modules');
  const client = join(modules, 'warp-signature-aggregator-client');
  mkdirSync(client, { recursive: true });
  execFileSync('tar', ['-xzf', await packClient(folder), '--strip-components=1', '-C', client]);
  symlinkSync(join(ROOT, 'node_modules', 'viem'), join(modules, 'viem'));
}
