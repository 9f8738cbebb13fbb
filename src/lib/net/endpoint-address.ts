import type { ApiEndpoint } from './api-endpoint.ts';

/** Shorter values are no keys, and occur in many sentences. */
const MIN_SECRET_LENGTH = 4;
/** Length from which a part of a path, or of a value such as `Bearer …`, counts as a key. */
const MIN_KEY_LENGTH = 16;

/** Address of an API, with the query and headers that every request to it gets. */
export class EndpointAddress {
  readonly origin: string;
  /** For logs and metrics: paths and queries may hold keys. */
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #pathPrefix: string;
  readonly #ownQuery: string;
  readonly #secrets: readonly string[];

  constructor({ baseUrl, queryParameters = {}, httpHeaders = {} }: ApiEndpoint) {
    const url = new URL(baseUrl);
    for (const [key, value] of Object.entries(queryParameters)) url.searchParams.append(key, value);
    this.origin = url.origin;
    this.host = url.host;
    this.#pathPrefix = url.pathname.replace(/\/+$/, '');
    this.#ownQuery = url.search.slice(1);
    this.headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...Object.fromEntries(Object.entries(httpHeaders).map(([key, value]) => [key.toLowerCase(), value])),
    };
    const values = [...url.searchParams.values(), ...Object.values(httpHeaders)];
    const keys = [this.#pathPrefix, ...values].flatMap((text) => text.split(/[\s/]+/)).filter(isLongAsKey);
    this.#secrets = [this.#ownQuery, this.#pathPrefix, ...values, ...values.map(encodeURIComponent), ...keys]
      .filter((text) => text.length >= MIN_SECRET_LENGTH)
      .toSorted((a, b) => b.length - a.length);
  }

  /** @param target path and query, which stay unchanged */
  path(target: string): string {
    if (this.#ownQuery === '') return `${this.#pathPrefix}${target}`;
    return `${this.#pathPrefix}${target}${target.includes('?') ? '&' : '?'}${this.#ownQuery}`;
  }

  /** Removes keys of our URL and headers, which an API may repeat in an error, from a text. */
  redact(text: string): string {
    return this.#secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '…'), text);
  }
}

function isLongAsKey(text: string): boolean {
  return text.length >= MIN_KEY_LENGTH;
}
