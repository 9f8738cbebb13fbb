import { expect, test } from 'vitest';
import { startGateway } from '../../devnet/gateway.ts';
import { GATEWAY_FAULTS } from '../../devnet/gateway-faults.ts';
import { startService } from './running-service.ts';

/** The lookup of a subnet that is not known asks the API each time. */
const UNKNOWN_SUBNET = '/v1/signatureAggregator/fuji/subnets/SkB7qHwfMsyF2PgrjhMvtFxJKhuR5ZfVoW9VATWRV4P9jV7J';

test('a limit of the only API is 503 with its Retry-After, and the API is not called before', async () => {
  await using service = await startService(5);
  await using gateway = await startGateway(service.devnet.apiUrl);
  await using behind = await service.another({ network: { pChainApi: [{ baseUrl: gateway.url }] } });
  gateway.fault = GATEWAY_FAULTS['HTTP 429 with Retry-After'];
  const before = gateway.callCount;
  const answers = [];
  for (let requests = 0; requests < 50; requests += 1) answers.push(await behind.get(UNKNOWN_SUBNET));
  const expected = { status: 503, code: 'p_chain_unavailable' };
  expect(answers.map(({ status, body: { code } }) => ({ status, code }))).toEqual(answers.map(() => expected));
  const last = answers.at(-1);
  expect(last?.body['message']).toMatch(/it wants no calls for another \d+ s \(HTTP status 429: slow down\)$/);
  expect(last?.headers.get('retry-after')).toMatch(/^(2\d|30)$/);
  // Those that were on their way when the first was refused.
  expect(gateway.callCount - before).toBeLessThan(10);
});
