import type { AggregationExamples } from '../../api/openapi/example-request.ts';
import type { ErrorCode, RetryAdvice } from '../../http/errors/error-codes.ts';

/** Facts about the service that the page loads first. */
export interface ConsoleFacts {
  readonly version: string;
  readonly networks: readonly { readonly name: string; readonly aliases: readonly string[] }[];
  /** Whether there are examples that succeed. */
  readonly hasDevnet: boolean;
  /** An example of a public network, which validators refuse. */
  readonly example?: ExampleBody;
  /** Whether figures may be shown: not if the metrics have a separate port. */
  readonly hasFigures: boolean;
  /** Longest message that can be signed. */
  readonly maxMessageBytes: number;
  readonly errorCodes: Readonly<Record<ErrorCode, ErrorAdvice>>;
}

export type ExampleBody = AggregationExamples['requests'][number]['value'];

export interface ErrorAdvice {
  readonly meaning: string;
  readonly retry: RetryAdvice;
  readonly action: string;
}
