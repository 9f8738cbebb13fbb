/** Whom a command asks: a running service, or the validators themselves. */
export interface SourceOptions {
  readonly url: string;
  readonly config?: string;
  readonly network?: string;
  readonly apiKey?: string;
  /** In seconds. */
  readonly timeout: number;
}
