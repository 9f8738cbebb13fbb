import { type Dispatcher, Pool } from 'undici';

/**
 * Opens connections to an HTTP origin. A port, so that all HTTP clients can run over a simulated network. Whoever opens a
 * dispatcher owns it and must destroy it.
 */
export type OpenHttp = (origin: string, options: Pool.Options) => Dispatcher;

export const openHttpPool: OpenHttp = (origin, options) => new Pool(origin, options);
