/** Where an API is, and what is added to each request, as in the reference aggregator's configuration. */
export interface ApiEndpoint {
  /** Scheme and host, and the path if the API is served below a prefix. */
  readonly baseUrl: string;
  /** Added to the query of every request, e.g. a token. */
  readonly queryParameters?: Readonly<Record<string, string>>;
  /** Added to the headers of every request, e.g. our key. */
  readonly httpHeaders?: Readonly<Record<string, string>>;
}
