import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../errors/http-error.ts';
import type { ApiKey } from '../request/client-identity.ts';
import type { RouteGroup } from '../request/route-access.ts';

/** Both names mean the same; an empty header counts as none. */
const KEY_HEADERS = ['x-service-api-key', 'x-glacier-api-key'] as const;
/** Longer texts are not hashed. */
const MAX_KEY_LENGTH = 512;

/** Returns the key that a request sent; undefined if it sent none, or if there are no keys. */
export function readApiKey(
  { headers }: Pick<FastifyRequest, 'headers'>,
  apiKeys: readonly ApiKey[],
): ApiKey | 'unknown' | undefined {
  const given = KEY_HEADERS.map((name) => headers[name]).find((text) => text !== undefined && text !== '');
  if (given === undefined || apiKeys.length === 0) return undefined;
  return (typeof given === 'string' ? findKey(apiKeys, given) : undefined) ?? 'unknown';
}

/** Returns the reason to refuse a request without a key; undefined if it needs none. */
export function judgeNoKey(isKeyNeeded: boolean): HttpError | undefined {
  return isKeyNeeded ? new HttpError('unauthorized', 'an API key is needed; send one in x-service-api-key') : undefined;
}

/** Returns the reason to refuse a given key for a route of this group; undefined if it may use the route. */
export function judgeApiKey(
  apiKey: ApiKey | 'unknown',
  group: RouteGroup,
  isKeyNeeded: boolean,
): HttpError | undefined {
  if (apiKey === 'unknown') {
    const others = group === 'operate' || isKeyNeeded ? '' : '; requests without a key are answered too';
    return new HttpError('unauthorized', `the API key is not known here${others}`);
  }
  // A key without the right has its own requests.
  if (group === 'operate' || apiKey.routes.includes(group)) return undefined;
  const allowed = apiKey.routes.join(', ');
  return new HttpError(
    'forbidden',
    `the API key may use only routes of the groups ${allowed}, but this route belongs to ${group}`,
  );
}

/** Compares with every key, each in constant time, so that the duration reveals nothing. */
function findKey(apiKeys: readonly ApiKey[], text: string): ApiKey | undefined {
  if (text.length > MAX_KEY_LENGTH) return undefined;
  const hash = createHash('sha256').update(text).digest();
  let found: ApiKey | undefined;
  for (const key of apiKeys) {
    if (timingSafeEqual(key.sha256, hash)) found = key;
  }
  return found;
}
