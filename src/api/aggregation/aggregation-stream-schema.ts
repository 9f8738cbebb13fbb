import type { TSchema } from 'typebox';
import { Type } from '../../lib/encoding/schema.ts';
import { AGGREGATION_EVENTS, type AggregationEventKind } from './progress-records.ts';

/** Describes one event in the form that OpenAPI tools expect. */
const AggregationEventSchema = Type.Union(
  (Object.keys(AGGREGATION_EVENTS) as AggregationEventKind[]).map((kind) =>
    Type.Object({ event: Type.Literal(kind), data: AGGREGATION_EVENTS[kind] as TSchema }),
  ),
  { title: 'AggregationEvent', description: 'One event: the text after `event:`, and the JSON after `data:`' },
);

/** The response to `Accept: text/event-stream`, for the OpenAPI document. */
export const AGGREGATION_STREAM = {
  description:
    'Status 200, to `Accept: text/event-stream`: the progress of the collection as server-sent events, the last of which is `result` or ' +
    '`error`. Lines that begin with a colon keep the connection alive. Errors before the first event have the status and the JSON of the ' +
    'answers below.',
  content: { 'text/event-stream': { schema: AggregationEventSchema } },
};
