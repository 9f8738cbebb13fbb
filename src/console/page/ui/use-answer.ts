import { useEffect, useState } from 'preact/hooks';
import { useSession } from '../session.ts';

/** Wait after the last change, so that typing does not send a request for each key. */
const QUIET_MS = 150;

/** Returns a value once it has not changed for a moment, as a text that is typed. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), QUIET_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface Answer<T> {
  readonly key?: string;
  readonly value?: T;
  readonly error?: unknown;
}

/**
 * Asks the service again a moment after the question or the API key has changed. Until then there is no answer, because one to another question
 * does not answer this one.
 */
export function useAnswer<Question extends object, T>(
  question: Question | undefined,
  ask: (question: Question, signal: AbortSignal) => Promise<T>,
): Answer<T> | undefined {
  const [answer, setAnswer] = useState<Answer<T>>({});
  const { api } = useSession();
  const key = question && JSON.stringify([question, api.key]);
  useEffect(() => {
    if (question === undefined || key === undefined) return undefined;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      ask(question, leaving.signal).then(
        (value) => setAnswer({ key, value }),
        (error: unknown) => {
          if (!leaving.signal.aborted) setAnswer({ key, error });
        },
      );
    }, QUIET_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [key]);
  return key !== undefined && answer.key === key ? answer : undefined;
}
