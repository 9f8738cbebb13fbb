import { expect, test } from 'vitest';
import { connectionLimits, neededFiles } from '../../../src/app/file-limits.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';

const NODE = { pChainApi: [{ baseUrl: 'http://127.0.0.1:9650' }] };

function limitsOf(fileLimit: number | undefined, networks: object, server = {}) {
  return connectionLimits(fileLimit, parseConfig({ networks, server }, {}, {}).config);
}

test('without a limit of files, or with a high one, connections have limits of their own', () => {
  for (const limit of [undefined, 1_048_576, 16_384]) {
    expect(limitsOf(limit, { fuji: NODE })).toEqual({ maxConnections: 4_096, maxPeerConnections: 12_000 });
  }
});

test.each([
  // A quarter is for other files, up to 200.
  [256, { maxConnections: 96, maxPeerConnections: 96 }],
  [1_024, { maxConnections: 412, maxPeerConnections: 412 }],
  [8_192, { maxConnections: 3_996, maxPeerConnections: 3_996 }],
  [10_000, { maxConnections: 4_096, maxPeerConnections: 5_704 }],
])('of %i files, half of what is free is for clients', (limit, expected) => {
  expect(limitsOf(limit, { fuji: NODE })).toEqual(expected);
});

test('listeners and networks have equal parts', () => {
  const goApi = { apiPort: 8_081, metricsPort: 8_082 };
  const networks = { fuji: { ...NODE, goApi }, mainnet: { pChainApi: [{ baseUrl: 'http://127.0.0.1:9651' }] } };
  expect(limitsOf(1_024, networks)).toEqual({ maxConnections: 137, maxPeerConnections: 206 });
  expect(limitsOf(1_024, networks, { ownApi: false })).toEqual({ maxConnections: 206, maxPeerConnections: 206 });
});

test('the devnet needs two files for each validator, and each listener has at least one connection', () => {
  const devnet = (validators: number) => ({ local: { embedded: { validators } } });
  expect(limitsOf(256, devnet(20))).toEqual({ maxConnections: 76, maxPeerConnections: 76 });
  expect(limitsOf(256, devnet(200))).toEqual({ maxConnections: 1, maxPeerConnections: 1 });
});

test.each([
  [1_000, { fuji: NODE }],
  [9_000, { fuji: NODE }],
  [9_000, { fuji: NODE, mainnet: { pChainApi: [{ baseUrl: 'http://127.0.0.1:9651' }] } }],
  [1_000, { fuji: { ...NODE, goApi: { apiPort: 8_081, metricsPort: 8_082 } } }],
  [20, { local: { embedded: { validators: 20 } } }],
])(
  'with the files that are needed for %i validators in each of %j, no connection is missing',
  (validators, networks) => {
    const { config } = parseConfig({ networks }, {}, {});
    const needed = neededFiles(config, [validators, 10]);
    expect(connectionLimits(needed, config).maxConnections).toBe(4_096);
    expect(connectionLimits(needed, config).maxPeerConnections).toBeGreaterThanOrEqual(validators);
    const { maxConnections, maxPeerConnections } = connectionLimits(needed - 2 * config.networks.length, config);
    expect(maxConnections < 4_096 || maxPeerConnections < validators).toBe(true);
  },
);
