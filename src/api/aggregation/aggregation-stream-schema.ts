import type { TSchema } from 'typebox';
import { Type } from '../../lib/encoding/schema.ts';
import { AGGREGATION_EVENTS, type AggregationEventData, type AggregationEventKind } from './progress-records.ts';

/** One event, in the form in which tools that read OpenAPI expect events: what stands after `event:` and after `data:`. */
const AggregationEventSchema = Type.Union(
  (Object.keys(AGGREGATION_EVENTS) as AggregationEventKind[]).map((kind) =>
    Type.Object({ event: Type.Literal(kind), data: AGGREGATION_EVENTS[kind] as TSchema }),
  ),
  { title: 'AggregationEvent', description: 'One event: what stands after `event:`, and the JSON after `data:`' },
);

const SUBNET = '11111111111111111111111111111111LpoYY';
const HEAVY = 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg';
const LIGHT = 'NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ';
const WEIGHTS = { quorumWeight: '67', targetWeight: '67', totalWeight: '100' };

/** One of each kind, as a client gets them from two validators. */
const EVENT_EXAMPLES: AggregationEventData = {
  resolved: {
    ...{
      network: 'fuji',
      signingSubnetId: SUBNET,
      pChainHeight: 199,
      quorumPercentage: 67,
      quorumPercentageBuffer: 0,
    },
    ...{ signedWeight: '0', ...WEIGHTS, isVerifying: false },
    validators: [
      { index: 0, nodeIds: [HEAVY], weight: '80', isConnected: true, status: 'not_asked' },
      { index: 1, nodeIds: [LIGHT], weight: '20', isConnected: true, status: 'not_asked' },
    ],
  },
  asked: { validators: [0, 1] },
  answer: {
    answers: [
      { index: 0, weight: '80', outcome: 'signed' },
      { index: 1, weight: '20', outcome: 'refused', code: 2, text: 'message not found' },
    ],
  },
  progress: { signedWeight: '80', ...WEIGHTS },
  verifying: {},
  result: {
    signedMessage: '000000003039ee488204088eaba3d3c0c5e26d7a2892677f8d6181ef31848708b4e55ead766700000030…',
    ...{ pChainHeight: 199, signingSubnetId: SUBNET },
    ...{ signedWeight: '80', totalWeight: '100', signers: [HEAVY] },
  },
  error: {
    message: 'failed to collect a threshold of stake: signature weight is insufficient: 67*100 > 100*20',
    statusCode: 500,
    error: 'Internal Server Error',
    code: 'insufficient_weight',
  },
};

/** The answer of an aggregation to `Accept: text/event-stream`, for the document. */
export const AGGREGATION_STREAM = {
  description:
    'Status 200, to `Accept: text/event-stream`: how the collection goes, in events as browsers read them (`event:` and one line of `data:`, ' +
    'then an empty line), and last `result` or `error`. Lines that begin with a colon keep the connection alive. What fails ' +
    'before there is anything to tell has the status and the JSON of the answers below.',
  content: {
    'text/event-stream': {
      schema: AggregationEventSchema,
      examples: Object.fromEntries(
        Object.entries(EVENT_EXAMPLES).map(([event, data]) => [event, { value: { event, data } }]),
      ),
    },
  },
};
