import { createRequire } from 'node:module';
import type { Dispatcher, Pool } from 'undici';
import { once } from '../concurrency/once.ts';

/** Opens connections to an HTTP origin, which tests simulate. The caller owns the dispatcher and must destroy it. */
export type OpenHttp = (origin: string, options: Pool.Options) => Dispatcher;

/**
 * Loads undici's pool alone: all of undici, with fetch, caches and web sockets, takes another 14 MB and 100 ms. Its main file adds the
 * methods of dispatchers, so the one that we call is added here.
 */
const loadPool = once(() => {
  const load = createRequire(import.meta.url);
  const UndiciPool = load('undici/lib/dispatcher/pool.js') as typeof Pool;
  UndiciPool.prototype.request = load('undici/lib/api/api-request.js') as Pool['request'];
  return UndiciPool;
});

/** Loads undici at the first call: a service without upstreams does not need it. */
export const openHttpPool: OpenHttp = (origin, options) => {
  const UndiciPool = loadPool();
  return new UndiciPool(origin, options);
};
