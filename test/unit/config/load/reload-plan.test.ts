import { expect, test } from 'vitest';
import { parseConfig } from '../../../../src/config/load/load-config.ts';
import { planReload, settingsAfter } from '../../../../src/config/load/reload-plan.ts';
import { fileWith } from './config-fixture.ts';

const writtenOf = (file: object) => parseConfig(file, {}, { SECRET: 's', OTHER: 'o' }).settings;
const BEFORE = writtenOf(fileWith());
const plan = (file: object, before = BEFORE) => planReload(before, writtenOf(file));
const A = { baseUrl: 'https://a.test' };
const B = { baseUrl: 'https://b.test' };
const SUBNET = '11111111111111111111111111111111LpoYY';
const PEER = { nodeId: 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg', address: '10.0.0.1:9651' };

test('an unchanged configuration changes nothing', () => {
  expect(plan(fileWith())).toEqual({ taken: [], left: [] });
  // A default written out is no change.
  expect(plan(fileWith({ log: { level: 'info' }, server: { drainDelayMs: 0 } }))).toEqual({ taken: [], left: [] });
});

test.each<[string[], object]>([
  [['log.level'], { log: { level: 'debug' } }],
  [['access.unitsPerMinute'], { access: { unitsPerMinute: 5 } }],
  [['access.operateWithoutKey'], { access: { operateWithoutKey: true } }],
  [['access.apiKeys'], { access: { apiKeys: [{ name: 'a', sha256: 'a'.repeat(64) }] } }],
  [['networks.fuji.trackedSubnetIds'], { network: { trackedSubnetIds: [SUBNET] } }],
  [['networks.fuji.manuallyTrackedPeers'], { network: { manuallyTrackedPeers: [PEER] } }],
  [['networks.fuji.pChainApi', 'networks.fuji.infoApi'], { network: { pChainApi: [A] } }],
  [['networks.fuji.infoApi'], { network: { infoApi: [A] } }],
  [['networks.fuji.chainRpc'], { network: { chainRpc: { C: [A, B] } } }],
])('%j is applied', (taken, sections) => {
  expect(plan(fileWith(sections as never))).toEqual({ taken, left: [] });
});

test.each<[string[], object]>([
  [['server.port'], { server: { port: 1 } }],
  [['identity.directory'], { identity: { directory: 'd' } }],
  [['aggregation.requestTimeoutMs'], { aggregation: { requestTimeoutMs: 1 } }],
  [['networks.fuji.aliases'], { network: { aliases: ['f'] } }],
  [['networks.fuji.validatorRefreshMs'], { network: { validatorRefreshMs: 1 } }],
  [['networks.fuji.dataApi'], { network: { dataApi: A } }],
  // Whether an upstream exists decides which routes exist.
  [['upstream.metrics'], { upstream: { metrics: A } }],
])('%j needs a restart', (left, sections) => {
  expect(plan(fileWith(sections as never))).toEqual({ taken: [], left });
});

test("an existing upstream's address and the variable of its key are applied", () => {
  const before = writtenOf(fileWith({ upstream: { metrics: A, nodeRpc: { ...A, httpHeaders: { k: '${SECRET}' } } } }));
  expect(
    plan(fileWith({ upstream: { metrics: B, nodeRpc: { ...A, httpHeaders: { k: '${OTHER}' } } } }), before),
  ).toEqual({ taken: ['upstream.metrics', 'upstream.nodeRpc'], left: [] });
  expect(plan(fileWith(), before)).toEqual({ taken: [], left: ['upstream.metrics', 'upstream.nodeRpc'] });
});

test('added and removed networks need a restart', () => {
  const both = { networks: { fuji: { pChainApi: [{ baseUrl: 'https://api.example' }] }, mainnet: { pChainApi: [A] } } };
  expect(plan(both)).toEqual({ taken: [], left: ['networks.mainnet'] });
  expect(plan(fileWith(), writtenOf(both))).toEqual({ taken: [], left: ['networks.mainnet'] });
});

test('changes that need a restart are reported again, applied ones are not', () => {
  const file = fileWith({ log: { level: 'debug' }, server: { port: 1 } });
  const { taken } = plan(file);
  const running = settingsAfter(BEFORE, writtenOf(file), taken);
  expect(running).toMatchObject({ log: { level: 'debug' }, server: { port: 8080 } });
  expect(plan(file, running)).toEqual({ taken: [], left: ['server.port'] });
});
