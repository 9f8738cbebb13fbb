import type { TallySummary } from './tally.ts';

/**
 * Why a request got no signed message: a closed set, which `api` maps to HTTP statuses in one place.
 */
export type AggregatorErrorCode =
  /** The caller can mend it; the message starts with the request's field at fault. */
  | 'invalid request'
  /** No such blockchain, as far as the P-Chain knows. */
  | 'unknown source chain'
  | 'unknown subnet'
  /** No such transaction was accepted. */
  | 'unknown transaction'
  /** The message needs a justification that was not given and cannot be found. */
  | 'justification not found'
  /** The same; but the search goes on, and may find it in a while. */
  | 'not yet known'
  /** The signing subnet has no validators at the destination's or the proposed height; there it may have some in a while. */
  | 'no validators yet'
  /** Validators answered, and the quorum is out of reach. */
  | 'insufficient weight'
  /** Too little weight is connected to reach the quorum; it may be in a moment. */
  | 'not connected'
  /** The P-Chain API could not be asked. */
  | 'api unavailable'
  /** The P-Chain API answered what cannot be right. */
  | 'api invalid'
  /** More aggregations are in flight than the service takes at once. */
  | 'overloaded';

export class AggregatorError extends Error {
  override readonly name = 'AggregatorError';
  readonly code: AggregatorErrorCode;
  /** What the validators did, where any were asked. */
  readonly details: TallySummary | undefined;

  constructor(
    code: AggregatorErrorCode,
    message: string,
    { details, cause }: { details?: TallySummary; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.details = details;
  }
}
