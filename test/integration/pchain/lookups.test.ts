import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { NetworkConfig } from '../../../src/config/settings.ts';
import { openNetworkApi, type PartsOptions } from '../../../src/network/network-parts.ts';
import { createSubnetDirectory } from '../../../src/pchain/state/subnet-directory.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type BlockchainID, idFromBytes } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { LocalApi } from './local-api.ts';

test('lookups of invented IDs do not delay heights and sets, because they have few connections', async () => {
  await using api = await LocalApi.start(({ method }) =>
    method === 'platform.validatedBy' ? 'hang' : { result: { height: '18' } },
  );
  await using opened = new AsyncDisposableStack();
  const endpoints = [{ baseUrl: api.baseUrl }];
  const network = { pChainApi: endpoints, infoApi: endpoints, apiTimeoutMs: 5_000 } as unknown as NetworkConfig;
  const clock = new FakeClock();
  const { node, lookups } = openNetworkApi(opened, {
    ...{ network, clock, random: () => 0, metrics: createMetrics(new Registry()) },
  } as unknown as PartsOptions);
  const directory = createSubnetDirectory(lookups, clock);
  const leaving = new AbortController();
  const flood = Array.from({ length: 600 }, (_, number) => {
    const chainID = new Uint8Array(32).fill(number & 0xff).with(0, number >> 8);
    return directory.validatedBy(idFromBytes<BlockchainID>(chainID, 'chain'), leaving.signal);
  });
  const ended = Promise.allSettled(flood);
  await api.received(4);
  const { signal } = leaving;
  expect(await Promise.all([node.getProposedHeight(signal), node.getHeight(signal)])).toEqual([18n, 18n]);
  // Four are asked, some wait for them, and the others are refused at once.
  expect(api.requests.filter(({ method }) => method === 'platform.validatedBy')).toHaveLength(4);
  await expect(flood.at(-1)).rejects.toThrow('128 calls of the API are in flight already');
  leaving.abort(new Error('gone'));
  const reasons = (await ended).map((result) => String(result.status === 'rejected' && result.reason));
  expect(reasons.filter((reason) => reason === 'Error: gone')).toHaveLength(128);
});
