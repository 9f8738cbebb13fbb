import { type Static, Type } from 'typebox';
import { Decimal, integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import { OBSTACLE_CAUSES } from '../../p2p/peer-view.ts';

/** The report of `doctor --json`. Further fields may be added; a field that changes or goes raises `schemaVersion`. */
export const SCHEMA_VERSION = 1;

const Ms = integer('Milliseconds');
const OptionalMs = Type.Optional(Ms);
const Percent = Type.Number({ minimum: 0, maximum: 100, description: 'Of the total weight, in percent' });
const OffsetMs = integer('Clock of the other side less that of this machine, in milliseconds');

export const CALL_OUTCOMES = ['works', 'refused', 'unavailable', 'invalid', 'skipped'] as const;
const CALL = {
  method: text('The method, and what it was asked for'),
  outcome: oneOf(
    CALL_OUTCOMES,
    '`refused`: the endpoint serves no such call; `unavailable`: no answer, or not now, such as a rate limit; `invalid`: the answer cannot be ' +
      'used; `skipped`: not tried, for the reason in `words`',
  ),
  durationMs: OptionalMs,
  words: optionalText('The words of the endpoint'),
};
const Call = Type.Object({ ...CALL, lost: text('What the service cannot do without this call') });

const HeightCall = Type.Object({
  ...CALL,
  form: oneOf(['number', 'proposed'], 'How the height is given'),
  depth: integer('Heights below the proposed one'),
});

const Endpoint = Type.Object({
  name: text('The settings that name it, such as `pChainApi[0]`'),
  url: text('Its base URL; what may be a key is masked'),
  networkId: Type.Optional(integer()),
  version: optionalText('The version of its node'),
  clockOffsetMs: Type.Optional(OffsetMs),
  calls: Type.Array(Call),
  heights: Type.Array(HeightCall, { description: 'At which heights it serves validator sets' }),
});

const Stage = Type.Object({
  outcome: oneOf(['ok', 'failed', 'not_reached'], '`not_reached`: an earlier stage failed'),
  durationMs: OptionalMs,
});

const ANSWER_OUTCOMES = ['signed', 'refused', 'timed_out', 'unreachable', 'invalid_signature', 'not_asked'] as const;

const ValidatorProbe = Type.Object({
  nodeId: text(),
  weight: Decimal,
  percent: Percent,
  address: optionalText('IP address and port'),
  tcp: Stage,
  tls: Stage,
  handshake: Stage,
  cause: Type.Optional(oneOf(OBSTACLE_CAUSES, 'Why it is not connected')),
  reason: optionalText('The cause in words'),
  version: optionalText('Name and version of its software'),
  clockOffsetMs: Type.Optional(OffsetMs),
  answer: Type.Object({
    outcome: oneOf(
      ANSWER_OUTCOMES,
      'Its answer to a request for a signature. `refused` is a right answer to a request about an unknown message',
    ),
    code: Type.Optional(integer('Of a refusal; below 0 it has nothing to do with the message')),
    words: optionalText(),
    durationMs: OptionalMs,
  }),
});

const Missing = Type.Object({
  cause: oneOf([...OBSTACLE_CAUSES, 'no_key']),
  weight: Decimal,
  percent: Percent,
  text: text('The cause, and what an operator can do about it'),
});

const Subnet = Type.Object({
  subnetId: text(),
  isTracked: Type.Boolean({ description: 'False for the primary network' }),
  problem: optionalText('Why its validators could not be tried'),
  pChainHeight: Type.Optional(Decimal),
  validators: Type.Optional(integer('Validators with a key')),
  totalWeight: Type.Optional(Decimal),
  reachedWeight: Type.Optional(Decimal),
  reachedPercent: Type.Optional(Percent),
  neededPercent: Percent,
  askedChainId: optionalText('The chain of the requests for signatures'),
  missing: Type.Array(Missing, { description: 'The weight that is not reached, heaviest cause first' }),
  heaviest: Type.Array(ValidatorProbe, { description: 'The heaviest validators, at most 20' }),
});

const Network = Type.Object({
  name: text(),
  networkId: Type.Optional(integer()),
  isDevnet: Type.Boolean({ description: 'Whether it was started for this report, on this machine' }),
  endpoints: Type.Array(Endpoint),
  others: Type.Array(Type.Object({ ...CALL, name: text('The setting, such as `chainRpc.C`'), url: text() }), {
    description: 'Other APIs: RPC of EVM chains, and the data API',
  }),
  announcedVersion: optionalText('The version in our Handshakes'),
  peersClockOffsetMs: Type.Optional(OffsetMs),
  problem: optionalText('Why no validator could be tried'),
  connectingMs: OptionalMs,
  subnets: Type.Array(Subnet, { description: 'The primary network first, then the tracked subnets' }),
});

const Finding = Type.Object({
  severity: oneOf(
    ['problem', 'passing', 'warning', 'note'],
    '`problem`: the service does not work, and will not without a change; `passing`: it does not work now; `warning`: a part of it does not ' +
      'work; `note`: it works, but',
  ),
  subject: text('The network, endpoint or part of the service'),
  text: text(),
  advice: optionalText('What to do'),
});

export const DoctorReport = Type.Object({
  schemaVersion: Type.Literal(SCHEMA_VERSION),
  service: Type.Object({ version: text(), node: text(), platform: text() }),
  startedAt: text('In RFC 3339'),
  durationMs: Ms,
  configuration: text('The file, or what takes its place'),
  identity: Type.Object({ nodeId: text(), kind: oneOf(['temporary', 'configured']) }),
  networks: Type.Array(Network),
  opened: Type.Array(Type.Object({ ...CALL, name: text('The setting, such as `store.path`') }), {
    description: 'What the service opens on this machine: its store, identity and ports',
  }),
  upstreams: Type.Array(Type.Object({ ...CALL, name: text(), url: text() })),
  redis: Type.Optional(Type.Object({ ...CALL, servers: text() })),
  fileDescriptors: Type.Object({
    limit: Type.Optional(integer('Soft limit of this process; missing where it cannot be read')),
    required: integer('The least limit with which every validator of this configuration can be connected'),
    needed: integer('The least limit with which neither clients nor validators are refused a connection'),
  }),
  findings: Type.Array(Finding, { description: 'The most severe first' }),
});

export type DoctorReport = Static<typeof DoctorReport>;
export type NetworkReport = Static<typeof Network>;
export type EndpointReport = Static<typeof Endpoint>;
export type HeightReport = Static<typeof HeightCall>;
export type SubnetReport = Static<typeof Subnet>;
export type ValidatorReport = Static<typeof ValidatorProbe>;
export type OtherReport = NetworkReport['others'][number];
export type CallOutcome = (typeof CALL_OUTCOMES)[number];
export type StageReport = Static<typeof Stage>;
export type AnswerReport = ValidatorReport['answer'];
export type FindingReport = Static<typeof Finding>;
