/** What a route's own options say of it: which keys may use it, and what one request costs. */
export interface RouteAccess {
  readonly group: RouteGroup | 'operations';
  /** Of a client's units in a minute. */
  readonly units: number;
  /** The price in place of `units` of an answer that is cached. */
  readonly unitsIfCached?: number;
  /** On top of it, for each full KiB of what a request brings for others to be sent. */
  readonly unitsPerKiB?: number;
  /** On top of it, for each full hundred of validators that may have to be asked or are shown, at most {@link MAX_UNITS_OF_SIGNERS} in all. */
  readonly unitsPer100Signers?: number;
}

/** What an API key may be allowed to use. */
export type RouteGroup = 'aggregation' | 'data' | 'rpc';

/**
 * Asks many validators and checks the result with a pairing. At 2,000 validators it takes the machine a dozen times as long as at
 * 20, most of it in proportion to their number.
 */
export const AGGREGATION_ACCESS = {
  group: 'aggregation',
  units: 10,
  unitsIfCached: 1,
  unitsPer100Signers: 1,
} satisfies RouteAccess;
/** Above all sets that there are; nobody's request is to cost all that a minute has. */
export const MAX_UNITS_OF_SIGNERS = 20;
/** The client brings the message, and each of its bytes goes to each validator that is asked. Most messages have less than a KiB. */
export const MESSAGE_AGGREGATION_ACCESS = { ...AGGREGATION_ACCESS, unitsPerKiB: 1 } satisfies RouteAccess;
/** Connects the validators of a subnet, or looks up a set and checks a pairing. */
export const VIEW_ACCESS: RouteAccess = { group: 'aggregation', units: 5 };
/** All of a set is looked at for each page of it, in the thread that all requests pass through: 22 ms with 10,000 validators. */
export const SUBNET_VIEW_ACCESS = { ...VIEW_ACCESS, unitsPer100Signers: 1 } satisfies RouteAccess;
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

/** What a request costs on top, by the size of its set. */
export function unitsForSigners({ unitsPer100Signers = 0 }: RouteAccess, validators: number): number {
  return Math.min(MAX_UNITS_OF_SIGNERS, unitsPer100Signers * Math.floor(validators / 100));
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route has it in its own options; one without it stops the start. */
    access?: RouteAccess;
  }
}
