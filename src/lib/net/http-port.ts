import { createRequire } from 'node:module';
import type { Dispatcher, Pool } from 'undici';
import { once } from '../concurrency/once.ts';

/**
 * Opens connections to an HTTP origin. A port, so that all HTTP clients can run over a simulated network. Whoever opens a
 * dispatcher owns it and must destroy it.
 */
export type OpenHttp = (origin: string, options: Pool.Options) => Dispatcher;

/**
 * The pool alone: all of undici, with fetch, caches and web sockets, is another 14 MB and a tenth of a second. undici's main file is
 * what gives dispatchers their methods, so ours is given the one that we call.
 */
const loadPool = once(() => {
  const load = createRequire(import.meta.url);
  const UndiciPool = load('undici/lib/dispatcher/pool.js') as typeof Pool;
  UndiciPool.prototype.request = load('undici/lib/api/api-request.js') as Pool['request'];
  return UndiciPool;
});

/** Loads undici where it is first called: a service without upstreams needs none. */
export const openHttpPool: OpenHttp = (origin, options) => {
  const UndiciPool = loadPool();
  return new UndiciPool(origin, options);
};
