/** Address of an API and what is added to each request, in the form of the Go aggregator's configuration. */
export interface ApiEndpoint {
  /** Scheme, host and an optional path prefix. */
  readonly baseUrl: string;
  /** Added to the query of every request, e.g. a token. */
  readonly queryParameters?: Readonly<Record<string, string>>;
  /** Added to the headers of every request, e.g. our key. */
  readonly httpHeaders?: Readonly<Record<string, string>>;
}
