import { expect, test } from 'vitest';
import { routesOfService } from '../../../scripts/docs/routes-of-service.ts';

test('the routes of the service are read from their own options, hidden ones and those of the embedded network too', async () => {
  const routes = new Map((await routesOfService()).map((route) => [route.name, route]));
  expect([...routes.keys()]).toEqual(
    expect.arrayContaining([
      'POST /v1/signatureAggregator/{network}/aggregateSignatures',
      'GET /v1/networks/{network}/addresses:listChainIds',
      'POST /v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex',
      'GET /v1/*',
      'POST /ext/bc/{chain}',
      'GET /metrics',
      'GET /docs',
      'GET /devnet/examples',
    ]),
  );
  expect(routes.get('GET /health/live')?.summary).toBe('Whether the process answers');
  expect(routes.get('GET /health/live')?.operationID).toBe('live');
  expect(routes.get('GET /metrics')?.operationID).toBeUndefined();
  expect([...routes.values()].filter(({ operationID }) => operationID === '')).toEqual([]);
  expect(routes.get('POST /ext/bc/{chain}')).toMatchObject({ group: 'rpc', units: '2' });
  const incomplete = [...routes.values()].filter(({ group, units, summary }) => [group, units, summary].includes(''));
  expect(incomplete).toEqual([]);
  expect([...routes.keys()].filter((name) => /HEAD|OPTIONS|\/docs\//.test(name))).toEqual([]);
});
