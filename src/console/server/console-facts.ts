import type { AggregationExamples } from '../../api/openapi/example-request.ts';
import type { ErrorCode, RetryAdvice } from '../../http/errors/error-codes.ts';

/** What the page has to know of its service before it asks for anything. */
export interface ConsoleFacts {
  readonly version: string;
  readonly networks: readonly { readonly name: string; readonly aliases: readonly string[] }[];
  /** Where examples are that succeed: on the devnet only. */
  readonly hasDevnet: boolean;
  /** One that validators will refuse, of a public network. */
  readonly example?: ExampleBody;
  /** Whether the service's figures may be shown here: not where the metrics have an address of their own. */
  readonly hasFigures: boolean;
  readonly errorCodes: Readonly<Record<ErrorCode, ErrorAdvice>>;
}

export type ExampleBody = AggregationExamples['requests'][number]['value'];

export interface ErrorAdvice {
  readonly meaning: string;
  readonly retry: RetryAdvice;
  readonly action: string;
}
