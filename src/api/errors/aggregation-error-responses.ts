import { Type } from 'typebox';
import { describeErrors, PLAIN_FIELDS } from '../../http/errors/error-body.ts';
import { AggregationDetails } from './aggregation-details.ts';
import { SentMessages } from './sent-messages.ts';

const FIELDS = { ...PLAIN_FIELDS, details: Type.Optional(Type.Union([AggregationDetails, SentMessages])) };

export const aggregationErrorResponses = describeErrors('AggregationError', ['aggregator', 'api'], FIELDS);
/** Error answers of a route that reads a stored message and may sign it again, or reads blocks again. */
export const feedAggregationErrorResponses = describeErrors('AggregationError', ['feed', 'aggregator', 'api'], FIELDS);
