import { type Dispatcher, Pool } from 'undici';

/**
 * How connections to an HTTP origin are opened: a port, so that all HTTP clients can run over a simulated network. The
 * dispatcher belongs to whoever opened it, who destroys it.
 */
export type OpenHttp = (origin: string, options: Pool.Options) => Dispatcher;

export const openHttpPool: OpenHttp = (origin, options) => new Pool(origin, options);
