import { expect, it } from 'vitest';
import type { CheckedCall } from '../../../../src/cli/doctor/check.ts';
import type { CheckedNetwork } from '../../../../src/cli/doctor/facts.ts';
import { findFindings } from '../../../../src/cli/doctor/findings.ts';
import { call, endpoint, facts, network, subnet, validator } from './doctor-report.ts';

const L1 = { subnetId: 'L1', isTracked: true };
const REFUSED = { outcome: 'refused', words: 'Unsupported height parameter value (code -32000)' } as const;
const DEAD = endpoint({
  name: 'pChainApi[1]',
  calls: [call('platform.getProposedHeight', { outcome: 'unavailable', words: 'HTTP status 429' })],
  heights: [],
});
const numbersRefused = endpoint({
  heights: endpoint().heights.map((height) => (height.form === 'number' ? { ...height, ...REFUSED } : height)),
});
const without = (method: string, severity: CheckedCall['severity'] = 'warning') =>
  endpoint({ calls: [...endpoint().calls, call(method, { outcome: 'refused', words: `no ${method}`, severity })] });

it('a service that works has no finding', () => {
  expect(findFindings(facts())).toEqual([]);
});

it.each<[string, Partial<CheckedNetwork>, string, RegExp]>([
  ['numbers refused', { endpoints: [numbersRefused] }, 'warning', /numeric heights are refused \(Unsupported height/],
  [
    'a dead endpoint beside another',
    { endpoints: [endpoint(), DEAD] },
    'warning',
    /it serves no call: .*HTTP status 429/,
  ],
  ['a dead endpoint alone', { endpoints: [DEAD] }, 'passing', /no endpoint serves the validator set/],
  [
    'a call that nothing needs',
    { endpoints: [without('avm.getTx', 'note')] },
    'note',
    /avm\.getTx: refused: no avm\.getTx/,
  ],
  [
    'a call that is needed',
    { endpoints: [without('platform.getSubnet')] },
    'warning',
    /Without: what platform\.getSubnet/,
  ],
  [
    'a call that another endpoint serves',
    { endpoints: [without('platform.getSubnet'), endpoint({ calls: [call('platform.getSubnet')] })] },
    'note',
    /platform\.getSubnet: only another endpoint serves it/,
  ],
  [
    'a slow call',
    { endpoints: [endpoint({ calls: [...endpoint().calls, call('info.peers', { durationMs: 4_100 })] })] },
    'warning',
    /info\.peers took 4100 ms, and the service waits 4000 ms/,
  ],
  [
    'another network',
    { endpoints: [endpoint({ networkId: 1 })] },
    'problem',
    /belongs to network ID 1, and fuji has 5/,
  ],
  ['a wrong clock', { peersClockOffsetMs: 121_000 }, 'problem', /clock of this machine is 121 s behind its nodes/],
  ['a doubtful clock', { peersClockOffsetMs: -20_000 }, 'warning', /clock of this machine is 20 s ahead of its nodes/],
  [
    'too little weight',
    {
      subnets: [
        subnet({
          reachedPercent: 9,
          missing: [{ cause: 'private_address', weight: '91', percent: 91, text: '91 % is private' }],
        }),
      ],
    },
    'problem',
    /9 % of the weight is reached, and 67 % is needed: 91 % is private/,
  ],
  [
    'too little weight of an L1',
    { subnets: [subnet(), subnet({ ...L1, reachedPercent: 9 })] },
    'warning',
    /9 % of the weight/,
  ],
  [
    'validators that drop requests',
    {
      subnets: [
        subnet({
          heaviest: [validator(60), validator(40, { answer: { outcome: 'timed_out', words: 'drops requests' } })],
        }),
      ],
    },
    'warning',
    /1 of 2 asked validators gave no answer that counts \(drops requests\)/,
  ],
  [
    "a chain's RPC that fails",
    {
      others: [
        {
          name: 'chainRpc.C',
          url: 'https://c.example',
          ...call('eth_x', { outcome: 'invalid', words: 'HTTP status 404' }),
        },
      ],
    },
    'warning',
    /eth_x: invalid: HTTP status 404/,
  ],
])('%s', (_, change, severity, text) => {
  const findings = findFindings(facts({ networks: [network(change)] }));
  expect(findings).toContainEqual(expect.objectContaining({ severity, text: expect.stringMatching(text) }));
});

it("one endpoint's refusal of a height or a method is not taken for all", () => {
  const networks = [network({ endpoints: [numbersRefused, endpoint({ name: 'pChainApi[1]' })] })];
  expect(findFindings(facts({ networks }))).toEqual([]);
  const oneRefuses = [network({ endpoints: [without('platform.getTx'), endpoint({ name: 'pChainApi[1]' })] })];
  expect(findFindings(facts({ networks: oneRefuses })).map(({ severity }) => severity)).toEqual(['note']);
});

it('the machine, Redis and upstreams are findings, and a temporary identity beside an L1', () => {
  const failed = { outcome: 'unavailable', words: 'ECONNREFUSED' } as const;
  const findings = findFindings(
    facts({
      networks: [network({ subnets: [subnet(), subnet(L1)] })],
      redis: { servers: 'redis:6379', ...call('connect', failed) },
      upstreams: [{ name: 'upstream.metrics', url: 'https://m.example', ...call('GET /', failed) }],
      fileDescriptors: { limit: 1_024, needed: 5_000 },
    }),
  );
  expect(findings.map(({ severity, subject }) => `${severity} ${subject}`)).toEqual([
    'warning upstream.metrics',
    'warning Redis',
    'warning file descriptors',
    'note identity',
  ]);
});

it('findings are sorted by severity', () => {
  const networks = [network({ endpoints: [without('avm.getTx', 'note')], peersClockOffsetMs: 121_000 })];
  const findings = findFindings(facts({ networks }));
  expect(findings.map(({ severity }) => severity)).toEqual(['problem', 'note']);
});
