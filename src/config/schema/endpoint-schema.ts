import { validateHeaderName, validateHeaderValue } from 'node:http';
import { Type } from 'typebox';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { maskedBaseUrl } from './mask.ts';
import { check, type Derived, optional, type Report, replaced } from './setting.ts';

const SecretText = Type.String({ secret: 'always' });

const BASE_URL = {
  description:
    'Scheme, host and, if the API has one, a path. `user:password@` before the host is sent as Basic authentication, unless httpHeaders has ' +
    '`authorization`.',
  allowed: 'a URL of http or https',
  secret: 'when wrong',
  masked: maskedBaseUrl,
  examples: ['https://api.avax.network'],
} as const;

const BaseUrl = check(Type.String(BASE_URL), (text, report) => {
  checkUrl(text, report);
  const url = URL.parse(text);
  if (url === null || !/\/ext(\/|$)/.test(url.pathname)) return;
  const base = url.origin + url.pathname.replace(/\/ext(\/.*)?$/, '');
  report(`must end before /ext, which the service adds: write ${maskedBaseUrl(base)}`);
});

const RpcUrl = check(
  Type.String({
    ...BASE_URL,
    description: 'The whole URL of the RPC; `user:password@` is sent as Basic authentication.',
  }),
  checkUrl,
);

function checkUrl(text: string, report: Report): void {
  const url = URL.parse(text);
  if (url === null) report('must be a URL such as https://api.avax.network');
  else if (!['http:', 'https:'].includes(url.protocol)) {
    report('must be a URL of http or https, such as https://api.avax.network');
  }
}

const SocketUrl = check(
  Type.String({
    description: 'The whole URL of the web socket.',
    allowed: 'a URL of ws or wss',
    secret: 'when wrong',
    masked: maskedBaseUrl,
    examples: ['wss://api.avax.network/ext/bc/C/ws'],
  }),
  checkSocketUrl,
);

function checkSocketUrl(text: string, report: Report): void {
  const url = URL.parse(text);
  if (url === null || !['ws:', 'wss:'].includes(url.protocol)) {
    report('must be a URL of ws or wss, such as wss://api.avax.network/ext/bc/C/ws');
  } else if (url.hash !== '') report('must have no #fragment');
}

const QueryParameters = Type.Record(Type.String(), SecretText, {
  description: 'Added to the query of every request.',
  allowed: 'an object of texts',
  secret: 'when wrong',
  examples: [{ token: '${API_TOKEN}' }],
});

/** Headers of one connection or one body (RFC 9110, 7.6.1), which undici refuses or writes. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const HttpHeaders = check(
  Type.Record(Type.String(), SecretText, {
    description: 'Added to the headers of every request, such as a key of the API.',
    allowed: 'an object of texts',
    secret: 'when wrong',
    examples: [{ 'x-api-key': '${API_KEY}' }],
  }),
  (headers, report) => {
    const names = new Set<string>();
    for (const [name, value] of Object.entries(headers)) {
      const lowerCase = name.toLowerCase();
      if (names.has(lowerCase)) report('is the name of another header, in other letters', [name]);
      names.add(lowerCase);
      if (OF_CONNECTION.has(lowerCase)) report('is a header of the connection, which the service itself sets', [name]);
      if (typeof value !== 'string') continue;
      try {
        validateHeaderName(name);
        // The error's message names the header, not its value.
        validateHeaderValue(name, value);
      } catch (cause) {
        report(cause instanceof Error ? cause.message : String(cause), [name]);
      }
    }
  },
);

/** The address of an API, and what is added to each request; the added values may be secrets. */
export function Endpoint(description: string, derived?: Derived, baseUrl = BaseUrl) {
  return Type.Object(
    { baseUrl, queryParameters: optional(QueryParameters), httpHeaders: optional(HttpHeaders) },
    {
      additionalProperties: false,
      description,
      allowed: 'an endpoint {baseUrl, queryParameters, httpHeaders}',
      secret: 'when wrong',
      examples: [{ baseUrl: 'https://api.avax.network' }],
      ...(derived && { derived }),
    },
  );
}

const RpcEndpoint = Endpoint('One of them.', undefined, RpcUrl);

/** The RPC of a chain: an endpoint, or a list of them. The keywords for objects and those for lists each apply to their type alone. */
export const RpcEndpoints = Type.Unsafe<ApiEndpoint | readonly ApiEndpoint[]>({
  ...RpcEndpoint,
  type: ['object', 'array'],
  items: RpcEndpoint,
  minItems: 1,
  maxItems: 16,
  allowed: 'an endpoint {baseUrl, queryParameters, httpHeaders}, or a list of 1 to 16',
});

/** A web socket: an endpoint, or its URL alone. */
export const SocketEndpoint = replaced(
  Type.Unsafe<string | ApiEndpoint>({
    ...Endpoint('', undefined, SocketUrl),
    type: ['object', 'string'],
    description:
      'The web socket of its RPC, which reports new blocks: an endpoint, or its URL alone. The RPC is asked twice a second in any case.',
    allowed: 'a URL of ws or wss, or an endpoint {baseUrl, queryParameters, httpHeaders} with one',
    secret: 'when wrong',
    masked: maskedBaseUrl,
    examples: ['wss://api.avax.network/ext/bc/C/ws'],
  }),
  (given, report): ApiEndpoint => {
    if (typeof given !== 'string') return given;
    checkSocketUrl(given, report);
    return { baseUrl: given };
  },
);

export function Endpoints(description: string, derived?: Derived) {
  return Type.Array(Endpoint('One of them.'), {
    description,
    allowed: '1 to 16 endpoints {baseUrl, queryParameters, httpHeaders}',
    minItems: 1,
    maxItems: 16,
    secret: 'when wrong',
    examples: [[{ baseUrl: 'https://api.avax.network' }]],
    ...(derived && { derived }),
  });
}
