import type { Clock } from '../primitives/clock.ts';
import { type CachedResponse, type CachePolicy, ResponseCache } from './response-cache.ts';
import {
  createUpstreamClient,
  type UpstreamClient,
  type UpstreamEndpoint,
  type UpstreamRequest,
  type UpstreamResponse,
} from './upstream-client.ts';
import { UpstreamError } from './upstream-error.ts';

/** What each upstream serves, and the setting that says where it is. */
const UPSTREAMS = {
  mainnet: { role: 'data API of mainnet', setting: 'upstream.dataApi.mainnet' },
  fuji: { role: 'data API of fuji', setting: 'upstream.dataApi.fuji' },
  evm: { role: 'data API of EVM chains', setting: 'upstream.dataApi.evm' },
  metrics: { role: 'metrics service', setting: 'upstream.metrics' },
  node: { role: 'node RPC', setting: 'upstream.nodeRpc' },
} as const;

export type UpstreamName = keyof typeof UPSTREAMS;

export interface UpstreamsOptions {
  readonly endpoints: Readonly<Partial<Record<UpstreamName, UpstreamEndpoint>>>;
  readonly clock: Clock;
  readonly maxResponseBytes: number;
  /** 0 turns the cache off. */
  readonly cacheBytes: number;
}

/** All upstreams of the service, with one cache. When it is disposed, requests in flight fail. */
export interface Upstreams extends AsyncDisposable {
  /**
   * @param policy where the answer may be one given before
   * @throws {UpstreamError}, or the signal's reason where the caller aborted
   */
  request(
    name: UpstreamName,
    request: UpstreamRequest,
    policy: CachePolicy | undefined,
  ): Promise<CachedResponse | UpstreamResponse>;
}

export function createUpstreams({ endpoints, clock, maxResponseBytes, cacheBytes }: UpstreamsOptions): Upstreams {
  const clients = new Map<UpstreamName, UpstreamClient>();
  for (const [name, { role }] of Object.entries(UPSTREAMS) as [UpstreamName, (typeof UPSTREAMS)[UpstreamName]][]) {
    const endpoint = endpoints[name];
    if (endpoint !== undefined)
      clients.set(name, createUpstreamClient({ name: role, endpoint, clock, maxResponseBytes }));
  }
  const cache = cacheBytes === 0 ? undefined : new ResponseCache({ clock, maxBytes: cacheBytes });
  return {
    async request(name, request, policy) {
      const client = clients.get(name);
      if (client === undefined) {
        const { role, setting } = UPSTREAMS[name];
        throw new UpstreamError(
          'not configured',
          `this service has no ${role}: the setting ${setting} is missing in its configuration`,
        );
      }
      if (cache === undefined || policy === undefined) return client.request(request);
      return cache.get(
        `${name} ${request.target}`,
        policy,
        (signal) => client.request({ ...request, signal }),
        request.signal,
      );
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(Array.from(clients.values(), (client) => client[Symbol.asyncDispose]()));
    },
  };
}
