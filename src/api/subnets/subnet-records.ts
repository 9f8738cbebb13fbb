import { type Static, Type } from 'typebox';
import {
  type NodeStatus,
  type SubnetView,
  VALIDATOR_STATUSES,
  type ValidatorView,
} from '../../aggregation/subnets/subnet-view.ts';
import type { AnswerPast } from '../../aggregation/validators/answer-history.ts';
import { OUTCOME_MEANINGS, VALIDATOR_OUTCOMES } from '../../aggregation/validators/validator-outcome.ts';
import { Decimal, inJson, integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import { formatVersion } from '../../p2p/connection/handshake.ts';
import { OBSTACLE_CAUSES } from '../../p2p/peer-view.ts';
import { SUBNET_STATE } from '../health/health.ts';

const AgeMs = integer('Milliseconds ago');
/** Nodes choose their names. */
const MAX_CLIENT_NAME_LENGTH = 40;
const nextPageToken = optionalText('The pageToken of the next page, if there is one');

const Node = Type.Object(
  {
    nodeId: text(),
    isConnected: Type.Boolean({ description: 'Whether requests can be sent to it now' }),
    obstacle: Type.Optional(
      Type.Object(
        {
          cause: oneOf(
            OBSTACLE_CAUSES,
            '`unreachable`: no answer to TCP; `tcp_refused`: nothing listens at its address; `no_files`: this service has no file descriptor ' +
              'left; `tls`: TLS failed; `wrong_node`: another node answers there; `not_admitted`: closed after TLS, as by ' +
              'nodes that let in listed peers only; `clock`: its clock differs by more than a minute; `other_network`: it belongs to another ' +
              'network; `version`: it refuses the version that we announce; `handshake`: a handshake was refused, or did not come; `protocol`: it broke the ' +
              'protocol; `flood`: it sent too many messages that we did not request; `silent`: nothing came for too long; `lost`: the connection broke; `connecting`: it is being dialled; `no_address`: ' +
              'its address is unknown; `private_address`: its address may not be dialled; `version_unknown`: the node version is ' +
              'unknown; `no_room`: too many connections are open here; `own_node`: it is this service',
          ),
          reason: text(),
        },
        { title: 'ConnectionObstacle', description: 'Why it is not connected' },
      ),
    ),
    address: optionalText('IP address and port, as the node has signed them and peers pass them on'),
    version: optionalText('Name and version of its software, of a connected node'),
    lastAnswer: Type.Optional(
      Type.Object(
        {
          outcome: oneOf(VALIDATOR_OUTCOMES.filter((outcome) => outcome !== 'not_asked' && outcome !== 'no_key')),
          reason: Type.Optional(oneOf(['no_answer', 'request_dropped'], OUTCOME_MEANINGS.timed_out)),
          ageMs: AgeMs,
        },
        { title: 'LastAnswer', description: 'Outcome of the last signature request; missing if there was none' },
      ),
    ),
    latency: Type.Optional(
      Type.Object(
        { answers: integer('Number of measured answers, at most 100'), medianMs: Type.Number(), p99Ms: Type.Number() },
        { title: 'AnswerLatency', description: 'Latency of its last signatures and refusals' },
      ),
    ),
    lastRefusal: Type.Optional(
      Type.Object(
        { code: integer("The validator's own error code"), text: text("The validator's own words"), ageMs: AgeMs },
        { title: 'LastRefusal' },
      ),
    ),
    validationId: optionalText('Validation ID of an L1 validator'),
    balance: optionalText(
      'Balance of an L1 validator in nAVAX, at most 30 seconds old; a validator with 0 is inactive',
    ),
  },
  { title: 'ValidatorNode' },
);

const Validator = Type.Object(
  {
    status: oneOf(
      VALIDATOR_STATUSES,
      '`signable`: connected, and its last answer was good; `doubtful`: connected, but its last request ended without an answer, with an ' +
        'invalid signature, or with a refusal not caused by the message; `unreachable`: not connected; `inactive`: no balance left',
    ),
    reason: optionalText('Why it is not signable'),
    index: Type.Optional(integer('Its bit in the set of signers; missing of an inactive one')),
    weight: Decimal,
    publicKey: optionalText('BLS key of 48 bytes in hex; missing of an inactive one'),
    nodes: Type.Array(Node, { description: 'All nodes with this key: any of them can sign for the whole weight' }),
  },
  { title: 'SubnetValidator' },
);

export const SubnetViewBody = Type.Object(
  {
    subnetId: text(),
    pChainHeight: integer('The P-Chain height whose validators these are'),
    totalWeight: Decimal,
    connectedWeight: text('Weight of connected validators'),
    reachableWeight: text('The same without validators whose last request ended without an answer'),
    signableWeight: text('Weight of signable validators'),
    highestQuorum: integer('The highest quorum that could be signed now, in percent'),
    withoutKey: Type.Object(
      { weight: Decimal, count: integer() },
      {
        title: 'KeylessWeight',
        description: 'Part of the total weight that cannot sign: validators without a BLS key, and inactive ones',
      },
    ),
    validators: Type.Array(Validator, { description: 'The heaviest first, then inactive ones' }),
    nextPageToken,
  },
  { title: 'SubnetView', description: 'The validators of a subnet and their state' },
);

export const SubnetListBody = Type.Object(
  {
    subnets: Type.Array(
      Type.Object(
        {
          ...SUBNET_STATE,
          isTracked: Type.Boolean({ description: 'Whether the operator has it connected permanently' }),
        },
        { title: 'ListedSubnet' },
      ),
    ),
    nextPageToken,
  },
  { title: 'SubnetList', description: 'The primary network, the tracked subnets, and recently requested ones' },
);

export type SubnetViewBody = Static<typeof SubnetViewBody>;
export type SubnetListBody = Static<typeof SubnetListBody>;

export function presentSubnet(view: SubnetView): Omit<SubnetViewBody, 'validators' | 'nextPageToken'> {
  return {
    subnetId: view.subnetID,
    pChainHeight: Number(view.pChainHeight),
    totalWeight: String(view.totalWeight),
    connectedWeight: String(view.connectedWeight),
    reachableWeight: String(view.reachableWeight),
    signableWeight: String(view.signableWeight),
    highestQuorum: Number(view.highestQuorumNum),
    withoutKey: { weight: String(view.keyless.weight), count: view.keyless.count },
  };
}

export function presentValidator(validator: ValidatorView): Static<typeof Validator> {
  const { status, reason, index, weight, publicKeyHex: publicKey, nodes } = validator;
  return inJson({ status, reason, index, weight: String(weight), publicKey, nodes: nodes.map(presentNode) });
}

function presentNode({ nodeID, obstacle, address, client, past, funds }: NodeStatus): Static<typeof Node> {
  return inJson({
    nodeId: nodeID,
    isConnected: obstacle === undefined,
    obstacle: obstacle && { cause: obstacle.cause, reason: obstacle.reason },
    address: address && `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`,
    version: client && `${client.name.slice(0, MAX_CLIENT_NAME_LENGTH)}/${formatVersion(client.version)}`,
    ...(past && presentPast(past)),
    validationId: funds?.validationID,
    balance: funds && String(funds.balance),
  });
}

function presentPast({ last, lastRefusal, latency }: AnswerPast) {
  return {
    lastAnswer: inJson({ outcome: last.outcome, reason: last.reason, ageMs: Math.round(last.ageMs) }),
    latency: latency && { answers: latency.count, medianMs: tenths(latency.medianMs), p99Ms: tenths(latency.p99Ms) },
    lastRefusal: lastRefusal && { ...lastRefusal, ageMs: Math.round(lastRefusal.ageMs) },
  };
}

function tenths(ms: number): number {
  return Math.round(10 * ms) / 10;
}
