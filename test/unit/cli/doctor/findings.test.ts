import { expect, it } from 'vitest';
import { findFindings } from '../../../../src/cli/doctor/findings.ts';
import { findFault } from '../../../../src/cli/probes/call-fault.ts';
import type { CheckedCall } from '../../../../src/cli/probes/check.ts';
import type { CheckedNetwork } from '../../../../src/cli/probes/facts.ts';
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
  [
    'numbers refused',
    { endpoints: [numbersRefused] },
    'warning',
    /numeric heights are refused \(platform\.getValidatorsAt: Unsupported height/,
  ],
  [
    'a dead endpoint beside another',
    { endpoints: [endpoint(), DEAD] },
    'warning',
    /it serves no call: .*HTTP status 429/,
  ],
  ['a dead endpoint alone', { endpoints: [DEAD] }, 'passing', /it serves no call: unavailable: HTTP status 429/],
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
    /half of its calls took 12 ms or longer, and info\.peers 4100 ms/,
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
    'problem',
    /9 % of the weight/,
  ],
  [
    'an L1 whose validators may admit the NodeID of the service',
    {
      subnets: [
        subnet(),
        subnet({
          ...L1,
          reachedPercent: 9,
          missing: [{ cause: 'not_admitted', weight: '91', percent: 91, text: '91 % closed the connection' }],
        }),
      ],
    },
    'warning',
    /9 % of the weight/,
  ],
  [
    'validators of the quorum that drop requests',
    {
      subnets: [
        subnet({
          heaviest: [validator(60, { answer: { outcome: 'timed_out', words: 'drops requests' } }), validator(40)],
        }),
      ],
    },
    'problem',
    /1 of 2 asked validators .* without them less than 67 % of the weight signs/,
  ],
  [
    'sets that no endpoint serves',
    { endpoints: [endpoint({ heights: endpoint().heights.map((height) => ({ ...height, ...REFUSED })) })] },
    'problem',
    /nothing can be signed \(platform\.getValidatorsAt: refused: Unsupported height parameter value/,
  ],
  [
    'the API of a public network under another name',
    { name: 'mine', endpoints: [endpoint({ networkId: 5 })] },
    'problem',
    /its info API belongs to fuji: call the network fuji in the configuration, not mine/,
  ],
  [
    'a wrong clock of an endpoint alone',
    { endpoints: [endpoint({ clockOffsetMs: -121_000 })] },
    'warning',
    /its clock is 121 s behind its nodes/,
  ],
  [
    'an endpoint whose calls are slow',
    { endpoints: [endpoint({ calls: endpoint().calls.map((one) => ({ ...one, durationMs: 2_500 })) })] },
    'warning',
    /half of its calls took 2500 ms or longer/,
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
    'problem',
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

const REFUSED_BY_ALL = {
  outcome: 'unavailable',
  words: 'ECONNREFUSED',
  fault: findFault(codedError('ECONNREFUSED'))!,
} as const;

function codedError(code: string, message = code): Error {
  return new Error('the call failed', { cause: Object.assign(new Error(message), { code }) });
}

it.each([
  ['ECONNREFUSED', 'problem', /nothing listens at its address: the node is down/, /start the node, or correct host/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'problem', /no authority that this machine trusts/, /NODE_EXTRA_CA_CERTS/],
  ['EPROTO wrong version number', 'problem', /does not speak TLS/, /write http:/],
  ['UND_ERR_INFO Expected HTTP/', 'problem', /does not speak plain HTTP/, /write https:/],
  ['ENOTFOUND', 'problem', /no host of this name/, /correct the name of the host/],
  ['ECONNRESET', 'passing', /closed the connection/, /check its port/],
  ['EAI_AGAIN', 'passing', /the DNS does not answer/, /check the DNS/],
])('the only endpoint fails by %s: one finding, with cause and cure', (failure, severity, cause, cure) => {
  const [code = ''] = failure.split(' ');
  const fault = findFault(codedError(code, failure))!;
  const dead = endpoint({
    calls: endpoint().calls.map((one) => ({ ...one, outcome: 'unavailable', words: failure, fault })),
    heights: [],
  });
  expect(findFindings(facts({ networks: [network({ endpoints: [dead] })] }))).toEqual([
    {
      severity,
      subject: 'fuji pChainApi[0], infoApi[0]',
      text: expect.stringMatching(cause),
      advice: expect.stringMatching(cure),
    },
  ]);
});

it('an API of several calls that cannot be reached is one finding', () => {
  const others = ['eth_a', 'eth_b'].map((method) => ({
    name: 'chainRpc.C',
    url: 'https://c.example',
    ...call(method, { ...REFUSED_BY_ALL, words: `${method}: ECONNREFUSED` }),
  }));
  expect(findFindings(facts({ networks: [network({ others })] }))).toEqual([
    expect.objectContaining({
      subject: 'fuji chainRpc.C',
      text: expect.stringMatching(/^it serves no call: nothing listens/),
    }),
  ]);
});

it('an info API of its own that is away keeps a private network closed', () => {
  const info = endpoint({ name: 'infoApi[0]', calls: [call('info.getNetworkID', REFUSED_BY_ALL)], heights: [] });
  const pChain = endpoint({
    name: 'pChainApi[0]',
    calls: endpoint().calls.filter(({ method }) => method !== 'info.getNetworkID'),
  });
  const networks = [
    network({
      name: 'mine',
      networkId: 1_337,
      endpoints: [
        { ...pChain, networkId: 1_337 },
        { ...info, networkId: 1_337 },
      ],
      problem: 'the info API does not answer',
    }),
  ];
  expect(findFindings(facts({ networks }))).toEqual([
    expect.objectContaining({ severity: 'problem', subject: 'mine infoApi[0]' }),
  ]);
});

it('what the service cannot open at its start is a problem', () => {
  const opened = [
    { name: 'store.path', ...call('open the store', { severity: 'problem', outcome: 'refused', words: 'EROFS' }) },
  ];
  expect(findFindings(facts({ opened }))).toEqual([
    expect.objectContaining({ severity: 'problem', subject: 'store.path', text: expect.stringMatching(/EROFS/) }),
  ]);
});

it('the limit of open files follows from the configuration, and less is a problem', () => {
  const of = (limit: number) => findFindings(facts({ fileDescriptors: { limit, required: 400, needed: 5_000 } }));
  expect(of(64)).toEqual([
    {
      severity: 'problem',
      subject: 'file descriptors',
      text: 'this shell allows 64 open files, and this configuration needs 400, or some validators are not connected',
      advice: expect.stringContaining('ulimit -n 400'),
    },
  ]);
  expect(of(1_024)).toEqual([expect.objectContaining({ severity: 'note' })]);
  expect(of(5_000)).toEqual([]);
});

it('the machine, Redis and upstreams are findings, and a temporary identity beside an L1', () => {
  const failed = { outcome: 'unavailable', words: 'ECONNREFUSED' } as const;
  const findings = findFindings(
    facts({
      networks: [network({ subnets: [subnet(), subnet(L1)] })],
      redis: { servers: 'redis:6379', ...call('connect', failed) },
      upstreams: [{ name: 'upstream.metrics', url: 'https://m.example', ...call('GET /', failed) }],
      fileDescriptors: { limit: 64, required: 400, needed: 5_000 },
    }),
  );
  expect(findings.map(({ severity, subject }) => `${severity} ${subject}`)).toEqual([
    'problem file descriptors',
    'warning upstream.metrics',
    'warning Redis',
    'note identity',
  ]);
});

it('findings are sorted by severity', () => {
  const api = { ...without('avm.getTx', 'note'), clockOffsetMs: 121_000 };
  const networks = [network({ endpoints: [api], peersClockOffsetMs: 121_000 })];
  const findings = findFindings(facts({ networks }));
  expect(findings.map(({ severity }) => severity)).toEqual(['problem', 'note']);
});
