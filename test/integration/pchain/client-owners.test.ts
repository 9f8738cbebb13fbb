import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { NetworkConfig } from '../../../src/config/settings.ts';
import { openNetworkApi, type PartsOptions } from '../../../src/network/network-parts.ts';
import { createNodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { LocalApi } from './local-api.ts';

test('a part of a closing network ends its calls before its client is closed', async () => {
  await using api = await LocalApi.start(() => 'hang');
  const opened = new AsyncDisposableStack();
  const endpoints = [{ baseUrl: api.baseUrl }];
  const network = { pChainApi: endpoints, infoApi: endpoints, apiTimeoutMs: 5_000 } as unknown as NetworkConfig;
  const { openClient, info } = openNetworkApi(opened, {
    ...{ network, clock: new FakeClock(), random: () => 0, metrics: createMetrics(new Registry()) },
  } as unknown as PartsOptions);
  // Like the parts of a network: opened later, in a separate stack.
  const parts = opened.use(new AsyncDisposableStack());
  const leaving = new AbortController();
  const calling = createNodeApi(openClient(parts), info).getHeight(leaving.signal);
  const failure = calling.catch((error: unknown) => error);
  parts.defer(async () => {
    leaving.abort(new Error('the part stops'));
    await failure;
  });
  await api.received(1);
  await opened.disposeAsync();
  expect(await failure).toEqual(new Error('the part stops'));
});
