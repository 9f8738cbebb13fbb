/** What a route's own options say of it: which keys may use it, and what one request costs. */
export interface RouteAccess {
  readonly group: RouteGroup | 'operations';
  /** Of a client's units in a minute. */
  readonly units: number;
  /** On top of it, for each full KiB of what a request brings for others to be sent. */
  readonly unitsPerKiB?: number;
}

/** What an API key may be allowed to use. */
export type RouteGroup = 'aggregation' | 'data' | 'rpc';

/** Asks many validators and checks the result with a pairing. */
export const AGGREGATION_ACCESS: RouteAccess = { group: 'aggregation', units: 10 };
/** The client brings the message, and each of its bytes goes to each validator that is asked. Most messages have less than a KiB. */
export const MESSAGE_AGGREGATION_ACCESS = { ...AGGREGATION_ACCESS, unitsPerKiB: 1 } satisfies RouteAccess;
/** Connects the validators of a subnet, or looks up a set and checks a pairing. */
export const VIEW_ACCESS: RouteAccess = { group: 'aggregation', units: 5 };
/** Asks all validators of an L1 several times, and then for their signatures. */
export const UPTIME_ACCESS: RouteAccess = { group: 'aggregation', units: 30 };
/** What is known here: nobody is asked. */
export const LOOKUP_ACCESS: RouteAccess = { group: 'aggregation', units: 1 };
/** One request to an upstream. */
export const DATA_ACCESS: RouteAccess = { group: 'data', units: 1 };
/** Each call of a node, each of a batch, too: it takes the node's one lock. */
export const RPC_ACCESS: RouteAccess = { group: 'rpc', units: 2 };
/** Free, and open to everybody: probes and scrapes must not fail for coming often. */
export const OPERATIONS_ACCESS: RouteAccess = { group: 'operations', units: 0 };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route has it in its own options; one without it stops the start. */
    access?: RouteAccess;
  }
}
