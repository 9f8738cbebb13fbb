import type { FastifyRequest } from 'fastify';
import { HttpError } from '../errors/http-error.ts';
import type { AccessOptions } from './access.ts';

/**
 * Returns whether a request of the group `operate` may concern all clients: its key has the right `operate`, or there are no keys, none is
 * needed on this machine, and the request is from it. Otherwise it may concern its own client only.
 *
 * @param what subject of the error texts, such as `requests are shown`
 * @throws {HttpError} `unauthorized` or `forbidden` if it may concern none
 */
export function isOperator(request: FastifyRequest, access: AccessOptions, what: string): boolean {
  const { apiKeys, operateWithoutKey = false } = access.rules;
  if (apiKeys.length === 0) {
    if (operateWithoutKey && isFromThisMachine(request)) return true;
    throw new HttpError('forbidden', `${what} ${operateWithoutKey ? ELSEWHERE : WITHOUT_KEYS}`);
  }
  const { apiKey } = request.context;
  if (apiKey === undefined) {
    throw new HttpError('unauthorized', `${what} for an API key only; send one in x-service-api-key`);
  }
  return apiKey.routes.includes('operate');
}

/** Ends of error texts. */
const ELSEWHERE = 'for the machine of the service only; configure access.apiKeys with a key for routes of operate';
const WITHOUT_KEYS =
  'for API keys only, and this service has none; configure access.apiKeys with a key for routes of operate, or set ' +
  'access.operateWithoutKey for the machine of the service';
const LOOPBACK = /^(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1)$/;
const LOCAL_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;
const FORWARDING_HEADERS = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'via'];

/**
 * Whether the client is on this machine. A proxy on this machine passes others' requests on. A page of another site may send requests
 * from a browser on this machine: its origin differs, or its host if its name resolves to a loopback address.
 */
function isFromThisMachine({ ip, headers }: FastifyRequest): boolean {
  const { host = '', origin } = headers;
  const isOfPage = origin === undefined || origin === `http://${host}` || origin === `https://${host}`;
  const isForwarded = FORWARDING_HEADERS.some((name) => headers[name] !== undefined);
  return LOOPBACK.test(ip ?? '') && LOCAL_HOST.test(host) && isOfPage && !isForwarded;
}
