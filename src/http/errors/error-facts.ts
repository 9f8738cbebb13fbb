import type { RequestPart } from './error-form.ts';

/** What an answer and the log have of an error beside its code and message. The part of the service that raises the error knows it. */
export interface ErrorFacts {
  /** Part of the request that the error is about, by which its form has the client's name of it. */
  readonly field: RequestPart | undefined;
  /** For programs. */
  readonly details: unknown;
  /** Fields for the log if what the request asks for has failed; undefined if it was refused, which is logged with a status of 5xx. */
  readonly failure: object | undefined;
}

/** Returns undefined for an error of which it knows no more. */
export type FactsOfError = (error: unknown) => ErrorFacts | undefined;
