import type { ApiEndpoint } from './api-endpoint.ts';

/** Shorter values are no keys, and are part of many sentences. */
const MIN_SECRET_LENGTH = 4;
/** A part of a path, or of a value such as `Bearer …`, is a key of its own where it is as long as one. */
const MIN_KEY_LENGTH = 16;

/** Where an API is, and what of our own goes with every request to it. */
export class EndpointAddress {
  readonly origin: string;
  /** For the log and for metrics, where the whole URL must not stand: paths and queries may hold keys. */
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

  /** @param target path and query, which stay as they are byte for byte */
  path(target: string): string {
    if (this.#ownQuery === '') return `${this.#pathPrefix}${target}`;
    return `${this.#pathPrefix}${target}${target.includes('?') ? '&' : '?'}${this.#ownQuery}`;
  }

  /** Takes out of a text whatever of our own an API may repeat in a sentence about the URL or the headers that it got. */
  redact(text: string): string {
    return this.#secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '…'), text);
  }
}

function isLongAsKey(text: string): boolean {
  return text.length >= MIN_KEY_LENGTH;
}
