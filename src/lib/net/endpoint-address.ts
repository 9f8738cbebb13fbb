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
  readonly #hostname: string;
  readonly #pathPrefix: string;
  readonly #ownQuery: string;
  readonly #secrets: readonly string[];

  constructor({ baseUrl, queryParameters = {}, httpHeaders = {} }: ApiEndpoint) {
    const url = new URL(baseUrl);
    for (const [key, value] of Object.entries(queryParameters)) url.searchParams.append(key, value);
    this.origin = url.origin;
    this.host = url.host;
    this.#hostname = url.hostname;
    this.#pathPrefix = url.pathname.replace(/\/+$/, '');
    this.#ownQuery = url.search.slice(1);
    const credentials = readCredentials(url);
    this.headers = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...(credentials && { authorization: basicAuthorization(credentials) }),
      ...Object.fromEntries(Object.entries(httpHeaders).map(([key, value]) => [key.toLowerCase(), value])),
    };
    const values = [
      ...url.searchParams.values(),
      ...Object.values(httpHeaders),
      ...(credentials ? [credentials.password, credentials.user, basicAuthorization(credentials)] : []),
    ];
    const keys = [this.#pathPrefix, ...values].flatMap((text) => text.split(/[\s/]+/)).filter(isLongAsKey);
    const written = [url.username, url.password];
    this.#secrets = [
      this.#ownQuery,
      this.#pathPrefix,
      ...written,
      ...values,
      ...values.map(encodeURIComponent),
      ...keys,
    ]
      .filter((text) => text.length >= MIN_SECRET_LENGTH)
      .toSorted((a, b) => b.length - a.length);
  }

  /** @param target path and query, which stay unchanged; empty if the base URL is the whole address */
  path(target: string): string {
    // HTTP has no request without a path.
    const path = `${this.#pathPrefix}${target}` || '/';
    if (this.#ownQuery === '') return path;
    return `${path}${target.includes('?') ? '&' : '?'}${this.#ownQuery}`;
  }

  /** Removes keys of our URL and headers, which an API may repeat in an error, from a text. */
  redact(text: string): string {
    return this.#secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '…'), text);
  }

  /** Removes the host, too: for texts that clients may see. A name without a dot may be a word of a sentence. */
  redactHost(text: string): string {
    return [this.host, this.#hostname]
      .filter((name) => /[.:]/.test(name))
      .reduce((redacted, name) => redacted.replaceAll(name, '…'), this.redact(text));
  }
}

interface Credentials {
  readonly user: string;
  readonly password: string;
}

function readCredentials({ username, password }: URL): Credentials | undefined {
  if (username === '' && password === '') return undefined;
  return { user: decodeWritten(username), password: decodeWritten(password) };
}

/** Keeps a text with a percent sign that begins no escape, as browsers do. */
function decodeWritten(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** RFC 7617 */
function basicAuthorization({ user, password }: Credentials): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function isLongAsKey(text: string): boolean {
  return text.length >= MIN_KEY_LENGTH;
}
