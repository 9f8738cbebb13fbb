import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type NetworkFeed, type NetworkFeedOptions, openNetworkFeed } from '../../../src/network/network-feed.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type BlockchainID, idFromBytes, PRIMARY_NETWORK_ID, type SubnetID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { chainNumbered, SIGNED_RESULT } from '../feed/emitted.ts';

const [L1, OTHER_L1, C] = [chainNumbered(1), chainNumbered(2), chainNumbered(3)];
const SUBNETS = new Map<BlockchainID, SubnetID>([
  [L1, idFromBytes<SubnetID>(new Uint8Array(32).fill(11), 'subnet')],
  [OTHER_L1, idFromBytes<SubnetID>(new Uint8Array(32).fill(12), 'subnet')],
  [C, PRIMARY_NETWORK_ID],
]);
const CONFIGURED = idFromBytes<SubnetID>(new Uint8Array(32).fill(13), 'subnet');

let clock: FakeClock;
let opened: AsyncDisposableStack;
let watching: NetworkFeed;
let tracked: readonly SubnetID[];
/** Delays the answer of the P-Chain about a chain. */
let lookup: Promise<void>;
let baseUrl: string;
/** Endpoints that the feed has opened and not closed. */
let open: string[];

const settingsOf = (...chains: NetworkFeedOptions['network']['feed']['chains']) => ({
  trackedSubnetIDs: [CONFIGURED],
  feed: { chains, retentionHours: 1, maxMessages: 100 },
});

beforeEach(() => {
  clock = new FakeClock();
  opened = new AsyncDisposableStack();
  tracked = [];
  lookup = Promise.resolve();
  baseUrl = 'https://a.test';
  open = [];
  watching = openNetworkFeed(opened, {
    network: { name: 'local', ...settingsOf() },
    networkID: 12_345,
    storePath: undefined,
    primaryChains: { find: async () => ({ C }) },
    directory: {
      async validatedBy(chainID) {
        await lookup;
        return SUBNETS.get(chainID);
      },
    },
    // No block is read: the RPC does not answer.
    endpointsOf: () => [{ baseUrl }],
    openEvmApi(owner, chain, endpoint) {
      const name = `${chain === L1 ? 'L1' : 'other'} at ${endpoint.baseUrl}`;
      open.push(name);
      owner.defer(() => void open.splice(open.indexOf(name), 1));
      return { getBlockNumber: (_: unknown, signal: AbortSignal) => untilAborted(signal) } as never;
    },
    trackSubnets: (subnetIDs) => {
      tracked = subnetIDs;
    },
    aggregator: { aggregate: async () => SIGNED_RESULT },
    clock,
    random: () => 0.5,
    logger: createLogLines().logger,
    metrics: createMetrics(new Registry()),
  });
});

afterEach(() => opened.disposeAsync());

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

async function reload(...chains: BlockchainID[]): Promise<void> {
  watching.update(settingsOf(...chains.map((blockchainId) => ({ blockchainId }))));
  await clock.advance(0);
}

test('a reload tracks the subnets of added chains, beside the configured ones, and not the primary network', async () => {
  await reload(L1, C);
  expect(new Set(tracked)).toEqual(new Set([CONFIGURED, SUBNETS.get(L1)]));
  await reload(L1, OTHER_L1);
  expect(new Set(tracked)).toEqual(new Set([CONFIGURED, SUBNETS.get(L1), SUBNETS.get(OTHER_L1)]));
});

test('the subnet of a removed chain is no longer tracked, and the chain no longer watched', async () => {
  await reload(L1, OTHER_L1);
  await reload(OTHER_L1);
  expect(new Set(tracked)).toEqual(new Set([CONFIGURED, SUBNETS.get(OTHER_L1)]));
  expect(watching.feed.chains().map(({ chainID }) => chainID)).toEqual([OTHER_L1]);
});

test('a chain that is removed before the P-Chain has answered is not tracked afterwards', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  lookup = promise;
  await reload(L1);
  await reload();
  resolve();
  await clock.advance(0);
  expect(tracked).toEqual([CONFIGURED]);
});

test('a chain whose settings change stays tracked', async () => {
  await reload(L1);
  watching.update(settingsOf({ blockchainId: L1, quorumPercentage: 80 }));
  expect(new Set(tracked)).toEqual(new Set([CONFIGURED, SUBNETS.get(L1)]));
});

test('a chain is read from other endpoints after a reload, and those before are closed', async () => {
  await reload(L1);
  expect(open).toEqual(['L1 at https://a.test']);
  baseUrl = 'https://b.test';
  await reload(L1);
  await clock.advance(100);
  expect(open).toEqual(['L1 at https://b.test']);
  baseUrl = 'https://c.test';
  watching.refresh();
  await clock.advance(100);
  expect(open).toEqual(['L1 at https://c.test']);
});
