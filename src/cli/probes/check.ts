import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { ApiError, type ApiErrorCode } from '../../pchain/rpc/api-error.ts';
import { judgeRejection } from '../../pchain/rpc/judge-rejection.ts';
import { ID_LENGTH, type Id32, idFromBytes } from '../../warp/ids.ts';
import { messageOf, printable } from '../io/text.ts';
import { type CallFault, findFault, HANGING } from './call-fault.ts';
import type { CallOutcome, FindingReport } from './report.ts';

/** What a call is for: findings and texts are made of these rows alone. */
interface Purpose {
  /** The name of the method, and what it is asked for. */
  readonly method: string;
  /** What the service cannot do where nothing serves the call. */
  readonly lost: string;
  /** Of the finding where nothing serves the call. */
  readonly severity: FindingReport['severity'];
  /** What an operator can do about that. */
  readonly advice: string;
}

/** A call that the service makes, to be tried. */
export interface Check extends Purpose {
  readonly call: (signal: AbortSignal) => Promise<unknown>;
  /** The call is about an invented ID: an error about it is an answer. */
  readonly isInvented?: boolean;
}

/** A {@link Check} that was tried. */
export interface CheckedCall extends Purpose, CallResult {}

export interface CallResult {
  readonly outcome: CallOutcome;
  readonly durationMs?: number;
  readonly words?: string;
  /** Of a connection. */
  readonly fault?: CallFault;
}

/** Thrown by a call for which there is nothing to ask. */
export class NotTried extends Error {
  override readonly name = 'NotTried';
}

export const ADDRESS_ADVICE = 'check its address and key';

/** Longer than the service waits for an attempt, so that a slow endpoint is told from a silent one. */
export const CALL_TIMEOUT_MS = 8_000;
const MAX_WORDS_LENGTH = 200;

const OUTCOMES: Readonly<Record<ApiErrorCode, CallOutcome>> = {
  rejected: 'refused',
  method_refused: 'refused',
  height_not_reached: 'refused',
  height_not_served: 'refused',
  unavailable: 'unavailable',
  invalid_response: 'invalid',
};

/** Tries a row. It never rejects. */
export async function runCheck({ call, isInvented = false, ...purpose }: Check): Promise<CheckedCall> {
  const isAnswer = isInvented ? isAboutQuestion : undefined;
  return { ...purpose, ...(await tryCall(call, isAnswer && { isAnswer })) };
}

export function skipCheck({ method, lost, severity, advice }: Check, words: string): CheckedCall {
  return { method, lost, severity, advice, ...skipped(words) };
}

/** Tries one call, and measures it. It never rejects. */
export async function tryCall(
  call: (signal: AbortSignal) => Promise<unknown>,
  { clock = systemClock, isAnswer = () => false }: { clock?: Clock; isAnswer?: (error: ApiError) => boolean } = {},
): Promise<CallResult> {
  const startedMs = clock.monotonicMs();
  const durationMs = (): number => Math.round(clock.monotonicMs() - startedMs);
  using deadline = startDeadline(clock, CALL_TIMEOUT_MS, 'the call');
  try {
    await call(deadline.signal);
    return { outcome: 'works', durationMs: durationMs() };
  } catch (error) {
    if (error instanceof ApiError && isAnswer(error)) return { outcome: 'works', durationMs: durationMs() };
    if (error instanceof NotTried) return skipped(error.message);
    const outcome = error instanceof ApiError ? OUTCOMES[error.code] : 'unavailable';
    const tookMs = durationMs();
    const fault = tookMs < CALL_TIMEOUT_MS ? findFault(error) : HANGING;
    return { outcome, durationMs: tookMs, words: wordsOf(error), ...(fault !== undefined && { fault }) };
  }
}

/** Without the name of the method, which is beside it. */
export function wordsOf(error: unknown): string {
  const words = printable(messageOf(error)).replace(/^[a-z]+[._]\w+: (rejected: |refused: )?/i, '');
  return words.length > MAX_WORDS_LENGTH ? `${words.slice(0, MAX_WORDS_LENGTH)}…` : words;
}

/** An error about the ID that was asked for: the endpoint serves the method. */
function isAboutQuestion({ rejection }: ApiError): boolean {
  return rejection !== undefined && judgeRejection(rejection) === 'question';
}

export function skipped(words: string): CallResult {
  return { outcome: 'skipped', words };
}

/** Describes a call that does not work, by its likely cause if there is one. */
export function describeFailure({
  outcome,
  words = '',
  fault,
}: Pick<CallResult, 'outcome' | 'words' | 'fault'>): string {
  if (fault !== undefined) return `${fault.cause} (${words})`;
  return words === '' ? outcome : `${outcome}: ${words}`;
}

/** Whether a call that failed may work later, without a change. */
export function mayPass({ outcome, fault }: Pick<CallResult, 'outcome' | 'fault'>): boolean {
  return outcome === 'unavailable' && fault?.mayPass !== false;
}

/** Returns a random ID, which nothing has. */
export function inventId<T extends Id32>(): T {
  return idFromBytes<T>(randomBytes(ID_LENGTH), 'ID');
}
