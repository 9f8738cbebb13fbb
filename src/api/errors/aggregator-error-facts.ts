import { AggregatorError } from '../../aggregation/aggregator-error.ts';
import type { ErrorFacts } from '../../http/errors/error-facts.ts';
import { detailsOf } from './aggregation-details.ts';

/** Returns what answers and the log have of an aggregator's error; undefined for another one. */
export function aggregatorErrorFacts(error: unknown): ErrorFacts | undefined {
  if (!(error instanceof AggregatorError)) return undefined;
  const { report } = error;
  const details = detailsOf(error);
  const failure = report && {
    messageId: report.messageID,
    sourceChainId: report.sourceChainID,
    ...(details as object),
  };
  return { field: error.field, details, failure };
}
