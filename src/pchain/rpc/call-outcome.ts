import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { Random } from '../../lib/concurrency/clock.ts';
import { ApiError, type ApiErrorCode, type Rejection } from './api-error.ts';
import type { RejectionSubject } from './judge-rejection.ts';

/** What one endpoint did with a call. */
export type Attempt<Result> = AttemptResponse<Result> | AttemptRejection | AttemptFailure;

export interface AttemptResponse<Result> {
  readonly status: 'responded';
  readonly result: Result;
}

/** A JSON-RPC error that may be the answer. Those about the endpoint are failures. */
export interface AttemptRejection {
  readonly status: 'rejected';
  readonly rejection: Rejection;
  readonly subject: Extract<RejectionSubject, 'question' | 'heights' | 'unknown'>;
}

export interface AttemptFailure {
  readonly status: 'failed';
  /** Only `unavailable` may pass. */
  readonly code: Exclude<ApiErrorCode, 'rejected'>;
  /** For metrics; `known` if no request was sent. */
  readonly reason: 'transport' | 'timeout' | 'http_status' | 'invalid_response' | 'json_rpc_error' | 'known';
  /** For clients, without hosts. */
  readonly message: string;
  /** For the log, if it differs. */
  readonly detail?: string | undefined;
  readonly rejection?: Rejection;
  /** Time for which the endpoint wants no calls, if it named one. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** Last outcome of a call at each endpoint that was asked, in this order, with its host. */
export type Outcomes<Endpoint> = ReadonlyMap<Endpoint, AttemptRejection | AttemptFailure>;

/** Pauses between rounds, half of them random. A longer pause that an endpoint asks for ends the call. */
const BACKOFF = { baseMs: 100, maxMs: 1_000 };

/**
 * Decides what follows when each endpoint was asked: the error of the call, or the pause until those that are unavailable are asked again.
 * A rejection is an answer even if other endpoints are unavailable, as it is where there is only one endpoint.
 *
 * @param outcomes at least one, none of them a response
 */
export function decideNext<Endpoint extends { readonly host: string }>(
  method: string,
  outcomes: Outcomes<Endpoint>,
  { round, maxRounds, random }: { readonly round: number; readonly maxRounds: number; readonly random: Random },
): ApiError | { readonly pauseMs: number } {
  const answer = findAnswer(outcomes);
  if (answer !== undefined) return rejected(method, answer.rejection, answer.host);
  const failures = new Map([...outcomes].filter((entry): entry is [Endpoint, AttemptFailure] => isFailure(entry[1])));
  const withCode = (code: AttemptFailure['code']) => [...failures.values()].filter((failure) => failure.code === code);
  const unavailable = withCode('unavailable');
  const waits = unavailable.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  const retryAfterMs = waits.length > 0 && waits.length === unavailable.length ? Math.min(...waits) : undefined;
  const code = ERROR_CODES.find((candidate) => withCode(candidate).length > 0) ?? 'invalid_response';
  if (code === 'unavailable' && round < maxRounds && (retryAfterMs ?? 0) <= BACKOFF.maxMs) {
    return { pauseMs: Math.max(backoffMs(round, BACKOFF, random), retryAfterMs ?? 0) };
  }
  const [first] = withCode(code);
  const message = code.startsWith('height_') ? first?.message : undefined;
  return new ApiError(code, message ?? `${method}: ${summarize(failures)}`, {
    cause: first?.cause,
    detail: `${method}: ${summarizeByHost(failures)}`,
    rejection: first?.rejection,
    retryAfterMs,
  });
}

/** The first that occurs is the code of the error. */
const ERROR_CODES = [
  'height_not_reached',
  'unavailable',
  'height_not_served',
  'method_refused',
  'invalid_response',
] as const satisfies readonly AttemptFailure['code'][];

/** Prefers an error that is certainly about the question; otherwise returns the first one. */
function findAnswer(outcomes: Outcomes<{ readonly host: string }>) {
  const rejections = [...outcomes].flatMap(([{ host }, outcome]) => (isFailure(outcome) ? [] : { ...outcome, host }));
  return rejections.find(({ subject }) => subject === 'question') ?? rejections[0];
}

function isFailure(outcome: AttemptRejection | AttemptFailure): outcome is AttemptFailure {
  return outcome.status === 'failed';
}

function rejected(method: string, rejection: Rejection, host: string): ApiError {
  const words = describeRejection(rejection);
  const detail = `${method}: rejected by ${host}: ${words}`;
  return new ApiError('rejected', `${method}: rejected: ${words}`, { rejection, detail });
}

export function describeRejection({ code, message }: Rejection): string {
  return `${message} (code ${code})`;
}

/** The error after the deadline of a call. */
export function callTookTooLong<Endpoint extends { readonly host: string }>(
  message: string,
  outcomes: Outcomes<Endpoint>,
  cause: unknown,
): ApiError {
  if (outcomes.size === 0) return new ApiError('unavailable', message, { cause });
  return new ApiError('unavailable', `${message} (${summarize(outcomes)})`, {
    cause,
    detail: `${message} (${summarizeByHost(outcomes)})`,
  });
}

/** For clients, without hosts. */
function summarize(outcomes: Outcomes<object>): string {
  return [...new Set([...outcomes.values()].map((outcome) => describe(outcome)))].join('; ');
}

/** For the log. */
function summarizeByHost(outcomes: Outcomes<{ readonly host: string }>): string {
  return [...outcomes].map(([{ host }, outcome]) => `${host}: ${describe(outcome, true)}`).join('; ');
}

function describe(outcome: AttemptRejection | AttemptFailure, isDetailed = false): string {
  if (!isFailure(outcome)) return `rejected: ${describeRejection(outcome.rejection)}`;
  return isDetailed ? (outcome.detail ?? outcome.message) : outcome.message;
}
