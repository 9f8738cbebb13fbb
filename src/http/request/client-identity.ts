import type { ApiKey } from '../access/api-keys.ts';
import { clientNetwork, siteNetwork } from './client-network.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined if the client sent no key, or an unknown one. */
    apiKey: ApiKey | undefined;
  }
}

export interface Client {
  readonly apiKey: ApiKey | undefined;
  /** Undefined after the client disconnected: its socket has no address any more, although Fastify's type says so. */
  readonly ip: string | undefined;
}

/** Client ID for limits and fair queues: the API key's name, or else the address. */
export function clientOf({ apiKey, ip }: Client): string {
  return apiKey === undefined ? `address:${clientNetwork(ip ?? '')}` : `key:${apiKey.name}`;
}

/** The network that a client without an API key shares with others under one limit; undefined for IPv4. */
export function siteOf({ apiKey, ip }: Client): string | undefined {
  return apiKey === undefined && ip?.includes(':') === true ? siteNetwork(clientNetwork(ip)) : undefined;
}
