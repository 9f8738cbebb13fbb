/** Where an API is asked, and what is added to each request, as the reference aggregator's configuration has it. */
export interface ApiEndpoint {
  /** Scheme, host, and where the API is served below a prefix, its path. */
  readonly baseUrl: string;
  /** Added to the query of every request, e.g. a token. */
  readonly queryParameters?: Readonly<Record<string, string>>;
  /** Added to the headers of every request, e.g. our key. */
  readonly httpHeaders?: Readonly<Record<string, string>>;
}
