import type { RouteOptions } from 'fastify';
import type { Server } from '../request/http-server.ts';

/**
 * Watches the routes that are registered after it.
 *
 * @returns a check for when all are there: it throws where a route does not declare its access, and names each of them
 */
export function watchRouteAccess(server: Server): () => void {
  // Looked at when all are there: hooks that run after this one may declare what a plugin's route cannot.
  const routes: RouteOptions[] = [];
  server.addHook('onRoute', (route) => void routes.push(route));
  return () => {
    const undeclared = routes.filter(({ config }) => config?.access === undefined);
    if (undeclared.length === 0) return;
    const names = undeclared.map(({ method, url }) => `${[method].flat().join(', ')} ${url}`);
    throw new Error(`routes without an access declaration (config: { access }): ${names.join('; ')}`);
  };
}
