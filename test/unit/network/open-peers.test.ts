import { expect, test } from 'vitest';
import { beaconsOf } from '../../../src/network/beacons.ts';
import { openPeers } from '../../../src/network/network-parts.ts';
import { NEWEST_KNOWN_VERSION } from '../../../src/p2p/connection/version-watch.ts';
import { createIdentity } from '../../../src/p2p/identity/identity.ts';
import { createUnreadMetrics } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { configOf, FUJI } from '../config/load/config-fixture.ts';

const HIDDEN_NODE = { nodeID: createIdentity().nodeID, host: '192.0.2.1', port: 9651 };

/** Opens the peers of fuji, where no address answers. Returns the hosts that are dialled. */
function open(api: Partial<Parameters<typeof openPeers>[1]>) {
  const clock = new FakeClock();
  const log = createLogLines();
  const [network] = configOf({ networks: { fuji: FUJI } }).networks;
  const dialled: string[] = [];
  const peers = openPeers(
    {
      network: network!,
      networkID: 5,
      identity: createIdentity(),
      clock,
      random: () => 0.5,
      logger: log.logger,
      metrics: createUnreadMetrics(),
      outside: {
        dial({ host }, events) {
          dialled.push(host);
          clock.after(10, () => events.onEnd('no route'));
          return { queuedBytes: 0, write() {}, pause() {}, resume() {}, close() {} };
        },
      },
    },
    {
      getNodeVersion: async () => NEWEST_KNOWN_VERSION,
      getPeers: async () => [],
      getNodeID: async () => HIDDEN_NODE.nodeID,
      getNodeIP: async () => HIDDEN_NODE,
      ...api,
    },
    () => [],
  );
  peers.want('primary', new Set([createIdentity().nodeID]));
  return { clock, log, dialled, peers };
}

const BEACONS = beaconsOf(5).map(({ host }) => host);

test('where the API lists no peers, the beacons are dialled beside its own node', async () => {
  const { clock, dialled, peers } = open({ getPeers: () => Promise.reject(new Error('no such method')) });
  await clock.advance(2_000);
  expect(new Set(dialled)).toEqual(new Set([HIDDEN_NODE.host, ...BEACONS]));
  await peers[Symbol.asyncDispose]();
});

test('where none of the listed peers can be connected, the beacons are dialled the next time', async () => {
  const listed = { nodeID: createIdentity().nodeID, host: '192.0.2.2', port: 9651 };
  const { clock, dialled, peers } = open({ getPeers: async () => [listed] });
  await clock.advance(2_000);
  expect(new Set(dialled)).toEqual(new Set([HIDDEN_NODE.host, listed.host]));
  await clock.advance(10_000);
  expect(dialled).toEqual(expect.arrayContaining(BEACONS));
  await peers[Symbol.asyncDispose]();
});
