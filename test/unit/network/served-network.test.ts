import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { aggregationLimits } from '../../../src/aggregation/aggregation-limits.ts';
import type { AggregationRequest, AggregationResult } from '../../../src/aggregation/request/aggregation-request.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { aborted } from '../../../src/lib/concurrency/deadline.ts';
import type { OpenNetwork } from '../../../src/network/network-opening.ts';
import type { NetworkParts } from '../../../src/network/network-parts.ts';
import { createServedNetwork, type NetworkOptions, type ServedNetwork } from '../../../src/network/served-network.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';

const OWN_ID = 1337;
const FUJI_ID = 5;
const MISSING = [
  { cause: 'private_address', weight: 90n, reason: 'its address is private', clockOffsetMs: undefined },
  { cause: 'no_address', weight: 1n, reason: 'no address known', clockOffsetMs: undefined },
] as const;
const RESULT = { signers: [] } as unknown as AggregationResult;

/** Network with a scripted API and parts. */
function scriptedServedNetwork({
  name = 'local',
  networkID = OWN_ID,
  describe: describeText,
}: {
  name?: string;
  describe?: (text: string) => string;
  networkID?: number | Error;
} = {}) {
  const clock = new FakeClock();
  const log = createLogLines();
  const registry = new Registry();
  const script = {
    networkID,
    isConnected: true,
    apiProblem: undefined as string | undefined,
    openError: undefined as Error | undefined,
    /** Times of requests for the network ID. */
    askedAtMs: [] as number[],
    beforeAnswer: Promise.resolve(),
    peerCounts: { connected: 1, turnedAway: 0 },
  };
  /** Events of API and parts, in order. */
  const events: string[] = [];
  const listeners = new Set<() => void>();
  const open: OpenNetwork = (opened, { network }) => {
    events.push(`api opened at ${network.infoApi[0]?.baseUrl}`);
    opened.defer(() => void events.push('api closed'));
    return {
      useEndpoints({ infoApi: [{ baseUrl } = {}] }) {
        events.push(`api asks ${baseUrl}`);
      },
      async getNetworkID(signal) {
        const { networkID: answer } = script;
        script.askedAtMs.push(clock.monotonicMs());
        await Promise.race([script.beforeAnswer, aborted(signal)]);
        signal.throwIfAborted();
        if (answer instanceof Error) throw answer;
        return answer;
      },
      openParts(openedParts, id) {
        openedParts.defer(() => void events.push('parts closed'));
        if (script.openError !== undefined) throw script.openError;
        events.push(`parts opened for ${id}`);
        return {
          heights: {
            problem: () => script.apiProblem,
            onRecovery(listener) {
              listeners.add(listener);
              return () => listeners.delete(listener);
            },
          },
          peers: { stats: () => script.peerCounts },
          update({ trackedSubnetIDs, manuallyTrackedPeers }) {
            events.push(`tracks ${trackedSubnetIDs.length} subnets and ${manuallyTrackedPeers.length} peers`);
          },
          aggregator: { aggregate: async () => RESULT },
          ...({} as Pick<
            NetworkParts,
            | 'subnets'
            | 'verifier'
            | 'uptimes'
            | 'subnetUptimes'
            | 'validations'
            | 'destinations'
            | 'feed'
            | 'primaryChains'
            | 'record'
          >),
          connections: {
            readiness() {
              const common = { subnetID: PRIMARY_NETWORK_ID, connected: { weight: 9n, totalWeight: 100n } };
              if (script.isConnected) return [{ ...common, isUp: true, reason: undefined }];
              return [{ ...common, isUp: false, reason: 'no validator is connected', missing: () => MISSING }];
            },
            onReadinessChange(listener) {
              listeners.add(listener);
              return () => listeners.delete(listener);
            },
          },
        };
      },
    };
  };
  const settings = { pChainApi: [{ baseUrl: 'http://api.example' }] };
  const { config } = parseConfig({ networks: { [name]: settings } }, {}, {});
  const network = createServedNetwork(
    {
      clock,
      logger: log.logger,
      metrics: createMetrics(registry),
      random: () => 0.5,
      describe: describeText,
      aggregation: aggregationLimits(config.aggregation),
      storePath: undefined,
      recordValidators: false,
      shared: undefined,
      network: config.networks[0] as NetworkOptions['network'],
      identity: { nodeID: 'NodeID-us' } as unknown as NetworkOptions['identity'],
      bls: {} as NetworkOptions['bls'],
    },
    open,
  );
  onTestFinished(() => network[Symbol.asyncDispose]());
  const change = (): void => {
    for (const listener of listeners) listener();
  };
  return { network, clock, log, script, events, listeners, change, registry };
}

async function openScripted() {
  const scripted = scriptedServedNetwork();
  scripted.network.open();
  await scripted.network.untilUp(never);
  await settle();
  return scripted;
}

const aggregate = (network: ServedNetwork) =>
  network.aggregator.aggregate({} as AggregationRequest, { signal: new AbortController().signal });

/** Returns the value or error of a promise, or `pending`. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  let state: unknown = 'pending';
  const set = (outcome: unknown): void => {
    state = outcome;
  };
  promise.then(set, set);
  await settle();
  return state;
}

const never = new AbortController().signal;

describe('a network of our own', () => {
  it('opens its parts with the ID from its API', async () => {
    const { network, events } = await openScripted();
    expect(events).toEqual(['api opened at http://api.example', 'parts opened for 1337']);
    expect(network.readiness()).toMatchObject({ name: 'local', status: 'up', nodeID: 'NodeID-us' });
    expect(await aggregate(network)).toBe(RESULT);
  });

  it('asks an API that hangs or fails with growing pauses, and reports the reason', async () => {
    const { network, clock, script, events, registry } = scriptedServedNetwork({
      networkID: new Error('connection refused'),
    });
    const hanging = Promise.withResolvers<void>();
    script.beforeAnswer = hanging.promise;
    network.open();
    await clock.advance(5_000);
    expect(network.readiness().reason).toContain('asking for the network ID took longer than 5000 ms');
    hanging.resolve();
    await clock.advance(70_000);
    expect(script.askedAtMs).toEqual([0, 6_000, 8_000, 12_000, 20_000, 36_000, 66_000]);
    const reason = 'its info API does not answer yet (connection refused)';
    expect(network.readiness()).toMatchObject({ status: 'down', reason });
    await expect(aggregate(network)).rejects.toThrow(`local cannot be served now: ${reason}`);
    expect(await registry.metrics()).toContain(
      'signature_aggregator_aggregation_duration_seconds_count{network="local",outcome="network_unavailable"} 1\n',
    );
    script.networkID = OWN_ID;
    await clock.advance(30_000);
    expect(events.at(-1)).toBe('parts opened for 1337');
    expect(network.readiness().status).toBe('up');
  });

  it('holds a request that waits until it is open, or for as long as the request waits', async () => {
    const { network, clock, script } = scriptedServedNetwork({ networkID: new Error('connection refused') });
    network.open();
    const signal = new AbortController();
    const ask = (signersWaitMs: number, client = new AbortController().signal) =>
      network.aggregator.aggregate({} as AggregationRequest, { signal: client, signersWaitMs });
    const [short, long, left] = [ask(5_000), ask(30_000), ask(30_000, signal.signal)];
    await clock.advance(5_000);
    expect(await stateOf(short)).toBe('pending');
    signal.abort(new Error('gone'));
    expect(await stateOf(left)).toMatchObject({ message: 'gone' });
    await clock.advance(1_000);
    expect(await stateOf(short)).toMatchObject({ code: 'network_unavailable' });
    expect(await stateOf(long)).toBe('pending');
    script.networkID = OWN_ID;
    await clock.advance(30_000);
    expect(await long).toBe(RESULT);
  });

  it('stays refused while the API of a public network fails, and is opened with the right one', async () => {
    const { network, clock, script, events, log } = scriptedServedNetwork({ networkID: FUJI_ID });
    network.open();
    await network.refused;
    const reason = 'its info API belongs to fuji: call the network fuji in the configuration, not local';
    // An API that fails meanwhile takes nothing back, and the log says it once.
    script.networkID = new Error('connection refused');
    await clock.advance(60_000);
    script.networkID = FUJI_ID;
    await clock.advance(120_000);
    expect(network.refusal).toBe(reason);
    expect(log.count(reason)).toBe(1);
    expect(events).toEqual(['api opened at http://api.example']);
    script.networkID = OWN_ID;
    await clock.advance(30_000);
    expect(network.refusal).toBeUndefined();
  });

  it('gets up after a change of connections or validator sets', async () => {
    const { network, script, change } = scriptedServedNetwork();
    script.isConnected = false;
    network.open();
    const up = network.untilUp(never);
    expect(await stateOf(up)).toBe('pending');
    expect(network.readiness()).toMatchObject({ status: 'starting', reason: expect.stringContaining('no validator') });
    script.isConnected = true;
    change();
    await up;
    // It is not starting from then on, without a call in between.
    script.isConnected = false;
    expect(network.readiness().status).toBe('down');
  });

  it('is down while its API does not answer, and up with the first answer', async () => {
    const { network, script, change } = await openScripted();
    script.apiProblem = 'no P-Chain API has reported the proposed height for 30 s';
    expect(network.readiness()).toMatchObject({ status: 'down', reason: script.apiProblem });
    const up = network.untilUp(never);
    expect(await stateOf(up)).toBe('pending');
    script.apiProblem = undefined;
    change();
    await up;
    expect(network.readiness().status).toBe('up');
  });

  it('names the main cause of missing weight, and logs it once, a minute after the start', async () => {
    const describe = (text: string) => text.replace('networks.local.allowPrivateAddresses', 'allow-private-ips');
    const { network, clock, script, log } = scriptedServedNetwork({ describe });
    script.isConnected = false;
    network.open();
    await clock.advance(59_999);
    expect(network.readiness().subnets[0]?.reason).toBe(
      'no validator is connected: 90 % has private addresses: set allow-private-ips to true if they can be reached from here',
    );
    expect(log.count('too little weight')).toBe(0);
    await clock.advance(120_000);
    const [warning, ...others] = log.records().filter(({ msg }) => msg.startsWith('too little weight'));
    expect(others).toEqual([]);
    expect(warning).toMatchObject({
      level: 'warn',
      status: 'down',
      reason: expect.stringContaining('90 % has private addresses: set allow-private-ips'),
      causes: [
        { subnetId: PRIMARY_NETWORK_ID, cause: 'private_address', weight: '90' },
        { subnetId: PRIMARY_NETWORK_ID, cause: 'no_address', weight: '1' },
      ],
    });
  });

  it('logs no warning where enough weight is connected', async () => {
    const { clock, log } = await openScripted();
    await clock.advance(120_000);
    expect(log.count('too little weight')).toBe(0);
  });

  it('fails with the error of its parts, and closes opened ones', async () => {
    const { network, script, events } = scriptedServedNetwork();
    script.openError = new Error('cannot open the store');
    const up = network.untilUp(never);
    network.open();
    await expect(network.failed).rejects.toThrow('cannot open the store');
    await expect(up).rejects.toThrow('cannot open the store');
    await network[Symbol.asyncDispose]();
    expect(events).toEqual(['api opened at http://api.example', 'parts closed', 'api closed']);
  });
});

describe('a public network', () => {
  it('is served while its info API does not respond', async () => {
    const { network, clock, events } = scriptedServedNetwork({ name: 'fuji', networkID: new Error('down') });
    network.open();
    await clock.advance(1_000);
    expect(events.at(-1)).toBe('parts opened for 5');
    expect(network.readiness().status).toBe('up');
    expect(await aggregate(network)).toBe(RESULT);
  });

  it('closes the parts opened with an API of another network, and opens again after a correction', async () => {
    const { network, clock, script, events, listeners } = scriptedServedNetwork({ name: 'fuji', networkID: 1 });
    network.open();
    await network.refused;
    await settle();
    expect(network.refusal).toBe('its info API reports network ID 1, but fuji has 5: check infoApi and pChainApi');
    expect(network.readiness().status).toBe('down');
    expect(events).toEqual(['api opened at http://api.example', 'parts opened for 5', 'parts closed']);
    expect(listeners.size).toBe(0);
    await expect(aggregate(network)).rejects.toMatchObject({ code: 'network_unavailable' });

    const up = network.untilUp(never);
    script.networkID = FUJI_ID;
    await clock.advance(30_000);
    await up;
    expect(events.slice(3)).toEqual(['parts opened for 5']);
    expect(await aggregate(network)).toBe(RESULT);
    await network[Symbol.asyncDispose]();
    expect(events.slice(4)).toEqual(['parts closed', 'api closed']);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('an update', () => {
  const changed = (name: string, network: object) =>
    parseConfig({ networks: { [name]: { pChainApi: [{ baseUrl: 'http://new.example' }], ...network } } }, {}, {}).config
      .networks[0] as NetworkOptions['network'];
  const PEER = { nodeId: 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg', address: '10.0.0.1:9651' };
  const TRACKED = { trackedSubnetIds: ['11111111111111111111111111111111LpoYY'], manuallyTrackedPeers: [PEER] };

  it('updates the parts and addresses of the same network', async () => {
    const { network, events } = await openScripted();
    expect(await network.update(changed('local', TRACKED))).toBeUndefined();
    expect(events.slice(2)).toEqual([
      'tracks 1 subnets and 1 peers',
      'api opened at http://new.example',
      'api closed',
      'api asks http://new.example',
    ]);
    // The same once more changes no address.
    expect(await network.update(changed('local', TRACKED))).toBeUndefined();
    expect(events.slice(6)).toEqual(['tracks 1 subnets and 1 peers']);
  });

  it.each([
    [FUJI_ID, 'its new info API reports network ID 5, but the network has 1337'],
    [new Error('down'), 'its new info API does not answer: down'],
  ])('leaves the addresses as they are where the new ones give %s', async (networkID, expected) => {
    const { network, events, script } = await openScripted();
    script.networkID = networkID;
    expect(await network.update(changed('local', TRACKED))).toBe(expected);
    expect(events).toContain('tracks 1 subnets and 1 peers');
    expect(events).not.toContain('api asks http://new.example');
  });

  it('updates a network before it is open', async () => {
    const { network, clock, events, script } = scriptedServedNetwork({ networkID: new Error('down') });
    network.open();
    await settle();
    expect(await network.update(changed('local', TRACKED))).toBeUndefined();
    expect(events.at(-1)).toBe('api asks http://new.example');
    script.networkID = OWN_ID;
    await clock.advance(2_000);
    expect(events.slice(-2)).toEqual(['parts opened for 1337', 'tracks 1 subnets and 1 peers']);
    expect(network.peerCounts()).toEqual({ connected: 1, turnedAway: 0 });
  });

  it('uses new addresses although a response of the old ones arrives later', async () => {
    const { network, events, script } = scriptedServedNetwork();
    const slow = Promise.withResolvers<void>();
    script.beforeAnswer = slow.promise;
    network.open();
    await settle();
    expect(await network.update(changed('local', {}))).toBeUndefined();
    script.networkID = FUJI_ID;
    slow.resolve();
    await settle();
    expect(network.refusal).toContain('its info API belongs to fuji');
    expect(events.filter((event) => event.startsWith('parts opened'))).toEqual([]);
  });

  it("sets the level of its log to the process's", async () => {
    const { network, clock, log } = scriptedServedNetwork({ networkID: new Error('down') });
    log.logger.level = 'error';
    await network.update(changed('local', {}));
    network.open();
    await clock.advance(2_000);
    expect(log.count('does not answer yet')).toBe(0);
    expect(network.peerCounts()).toBeUndefined();
  });
});

it('warns once a minute that its API does not answer', async () => {
  const { network, clock, log, script } = scriptedServedNetwork({ networkID: new Error('down') });
  network.open();
  await clock.advance(150_000);
  expect(script.askedAtMs.length).toBeGreaterThan(6);
  expect(log.count('does not answer yet')).toBe(3);
});

describe('a network that is closed', () => {
  it('while it waits for its API, leaves no timer and rejects only callers that wait', async () => {
    const { network, clock, events } = scriptedServedNetwork({ networkID: new Error('down') });
    network.open();
    await clock.advance(500);
    const left = network.untilUp(never).catch((error: unknown) => error);
    await network[Symbol.asyncDispose]();
    expect(await left).toMatchObject({ message: 'the service stops' });
    expect(events).toEqual(['api opened at http://api.example', 'api closed']);
    expect(clock.pendingTimers).toBe(0);
    expect(await stateOf(network.failed)).toBe('pending');
    expect(await stateOf(network.refused)).toBe('pending');
  });
});
