import { type Dispatcher, interceptors, Pool } from 'undici';

/** Opens connections to an HTTP origin, which tests simulate. The caller owns the dispatcher and must destroy it. */
export type OpenHttp = (origin: string, options: Pool.Options) => Dispatcher;

/** Opens a pool that decodes compressed bodies, errors included. `maxResponseSize` bounds the bytes before and after decoding. */
export const openHttpPool: OpenHttp = (origin, options) =>
  new Pool(origin, options).compose(
    interceptors.decompress({ skipErrorResponses: false, maxSize: options.maxResponseSize ?? 0 }),
  );
