import type { CheckedCall } from '../../../../src/cli/probes/check.ts';
import type { CheckedEndpoint, CheckedNetwork, Facts } from '../../../../src/cli/probes/facts.ts';
import type { ValidatorReport } from '../../../../src/cli/probes/report.ts';
import { PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';

export const call = (method: string, change: Partial<CheckedCall> = {}): CheckedCall => ({
  method,
  outcome: 'works',
  durationMs: 12,
  lost: `what ${method} is for`,
  severity: 'warning',
  advice: `what to do about ${method}`,
  ...change,
});

export function endpoint(change: Partial<CheckedEndpoint> = {}): CheckedEndpoint {
  return {
    name: 'pChainApi[0], infoApi[0]',
    url: 'https://api.example',
    networkId: 5,
    version: '1.15.0',
    clockOffsetMs: 300,
    calls: ['info.getNetworkID', 'platform.getHeight', 'platform.getProposedHeight', 'platform.getTx'].map((method) =>
      call(method),
    ),
    heights: [
      { method: 'platform.getValidatorsAt', form: 'proposed', depth: 0, outcome: 'works', durationMs: 5 },
      ...[0, 10, 100, 1_000].map((depth) => ({
        method: 'platform.getValidatorsAt',
        form: 'number' as const,
        depth,
        outcome: 'works' as const,
        durationMs: 5,
      })),
    ],
    ...change,
  };
}

export function validator(percent: number, change: Partial<ValidatorReport> = {}): ValidatorReport {
  return {
    nodeId: 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg',
    weight: String(percent),
    percent,
    address: '1.2.3.4:9651',
    tcp: { outcome: 'ok', durationMs: 20 },
    tls: { outcome: 'ok', durationMs: 21 },
    handshake: { outcome: 'ok', durationMs: 22 },
    version: 'avalanchego/1.15.0',
    answer: { outcome: 'refused', code: 11, words: 'unknown', durationMs: 3 },
    ...change,
  };
}

export function subnet(change: Partial<CheckedNetwork['subnets'][number]> = {}): CheckedNetwork['subnets'][number] {
  return {
    subnetId: PRIMARY_NETWORK_ID,
    isTracked: false,
    pChainHeight: '1234',
    validators: 2,
    totalWeight: '100',
    reachedWeight: '100',
    reachedPercent: 100,
    neededPercent: 67,
    askedChainId: PRIMARY_NETWORK_ID,
    missing: [],
    heaviest: [validator(60), validator(40)],
    ...change,
  };
}

export function network(change: Partial<CheckedNetwork> = {}): CheckedNetwork {
  return {
    name: 'fuji',
    networkId: 5,
    isDevnet: false,
    endpoints: [endpoint()],
    others: [],
    announcedVersion: '1.15.0',
    peersClockOffsetMs: -200,
    connectingMs: 4_000,
    subnets: [subnet()],
    ...change,
  };
}

/** Facts of a service that works. */
export function facts(change: Partial<Facts> = {}): Facts {
  return {
    schemaVersion: 1,
    service: { version: '0.1.0', node: 'v24.0.0', platform: 'linux x64' },
    startedAt: '2026-11-27T03:00:00.000Z',
    durationMs: 15_000,
    configuration: 'config/fuji.json',
    identity: { nodeId: 'NodeID-temporary', kind: 'temporary' },
    networks: [network()],
    opened: [],
    upstreams: [],
    fileDescriptors: { limit: 20_000, required: 400, needed: 5_000 },
    ...change,
  };
}
