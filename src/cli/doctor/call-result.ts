import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { ApiError, type ApiErrorKind } from '../../pchain/rpc/api-error.ts';
import { judgeRejection } from '../../pchain/rpc/judge-rejection.ts';
import { ID_LENGTH, type Id32, idFromBytes } from '../../warp/ids.ts';
import { messageOf, printable } from '../io/text.ts';
import type { CallOutcome } from './report.ts';

export interface CallResult {
  readonly outcome: CallOutcome;
  readonly durationMs?: number;
  readonly words?: string;
}

/** Longer than the service waits for an attempt, so that a slow endpoint is told from a silent one. */
export const CALL_TIMEOUT_MS = 8_000;
const MAX_WORDS_LENGTH = 200;

const OUTCOMES: Readonly<Record<ApiErrorKind, CallOutcome>> = {
  rejected: 'refused',
  method_refused: 'refused',
  height_not_reached: 'refused',
  height_not_served: 'refused',
  unavailable: 'unavailable',
  invalid_response: 'invalid',
};

/** Tries one call, and measures it. It never rejects. `value` is undefined after a failure. */
export async function tryCall<Value>(
  call: (signal: AbortSignal) => Promise<Value>,
  { clock = systemClock, isAnswer = () => false }: { clock?: Clock; isAnswer?: (error: ApiError) => boolean } = {},
): Promise<CallResult & { readonly value?: Value }> {
  const startedMs = clock.monotonicMs();
  const durationMs = (): number => Math.round(clock.monotonicMs() - startedMs);
  using deadline = startDeadline(clock, CALL_TIMEOUT_MS, 'the call');
  try {
    const value = await call(deadline.signal);
    return { outcome: 'works', durationMs: durationMs(), value };
  } catch (error) {
    if (error instanceof ApiError && isAnswer(error)) return { outcome: 'works', durationMs: durationMs() };
    const outcome = error instanceof ApiError ? OUTCOMES[error.kind] : 'unavailable';
    return { outcome, durationMs: durationMs(), words: wordsOf(error) };
  }
}

/** Without the name of the method, which is beside it. */
export function wordsOf(error: unknown): string {
  const words = printable(messageOf(error)).replace(/^[a-z]+[._]\w+: (rejected: |refused: )?/i, '');
  return words.length > MAX_WORDS_LENGTH ? `${words.slice(0, MAX_WORDS_LENGTH)}…` : words;
}

/** An error about the ID that was asked for: the endpoint serves the method. */
export function isAboutQuestion({ rejection }: ApiError): boolean {
  return rejection !== undefined && judgeRejection(rejection) === 'question';
}

export function skipped(words: string): CallResult {
  return { outcome: 'skipped', words };
}

/** Returns a random ID, which nothing has. */
export function inventId<T extends Id32>(): T {
  return idFromBytes<T>(randomBytes(ID_LENGTH), 'ID');
}
