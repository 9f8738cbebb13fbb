import { expect, test } from 'vitest';
import type { NetworkConfig } from '../../../src/config/settings.ts';
import { openNetworkApi, type PartsOptions } from '../../../src/network/network-parts.ts';
import { createNodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createUnreadMetrics } from '../../../src/telemetry/metrics.ts';
import type { BlockchainID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { LocalApi } from './local-api.ts';

function openApi(opened: AsyncDisposableStack, { baseUrl }: LocalApi) {
  const network = { pChainApi: [{ baseUrl }], infoApi: [{ baseUrl }] } as unknown as NetworkConfig;
  const options = { network, clock: new FakeClock(), random: () => 0, metrics: createUnreadMetrics() };
  return openNetworkApi(opened, options as unknown as PartsOptions);
}

test('lookups of invented IDs do not delay heights and sets, because they have few connections', async () => {
  await using api = await LocalApi.start(({ method }) =>
    method === 'platform.validatedBy' ? 'hang' : { result: { height: '18' } },
  );
  await using opened = new AsyncDisposableStack();
  const { node, lookups } = openApi(opened, api);
  const leaving = new AbortController();
  const { signal } = leaving;
  const flood = Array.from({ length: 150 }, (_, number) => lookups.validatedBy(`${number}` as BlockchainID, signal));
  const ended = Promise.allSettled(flood);
  await api.received(4);
  expect(await Promise.all([node.getProposedHeight(signal), node.getHeight(signal)])).toEqual([18n, 18n]);
  // Four are asked, some wait for them, and the others are refused at once.
  expect(api.requests.filter(({ method }) => method === 'platform.validatedBy')).toHaveLength(4);
  await expect(flood.at(-1)).rejects.toMatchObject({ code: 'unavailable' });
  leaving.abort(new Error('gone'));
  const reasons = (await ended).map((result) => String(result.status === 'rejected' && result.reason));
  expect(reasons.filter((reason) => reason === 'Error: gone')).toHaveLength(128);
});

test('new addresses are those of all clients, also of those opened later', async () => {
  const answer = (number: string) => LocalApi.start(() => ({ result: { height: number, networkID: number } }));
  await using before = await answer('1');
  await using after = await answer('2');
  await using opened = new AsyncDisposableStack();
  const { node, lookups, info, openClient, useEndpoints } = openApi(opened, before);
  const early = createNodeApi(openClient(opened), info);
  useEndpoints({ pChainApi: [after], infoApi: [after] });
  const late = createNodeApi(openClient(opened), info);
  const { signal } = new AbortController();
  for (const api of [node, lookups, early, late]) expect(await api.getHeight(signal)).toBe(2n);
  expect(await node.getNetworkID(signal)).toBe(2);
  expect(before.requests).toEqual([]);
});

test('a part of a closing network ends its calls before its client is closed', async () => {
  await using api = await LocalApi.start(() => 'hang');
  const opened = new AsyncDisposableStack();
  const { openClient, info } = openApi(opened, api);
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
