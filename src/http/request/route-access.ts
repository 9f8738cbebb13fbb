/** Access declaration of a route: which keys may use it, and the price of a request in units of a client's minute. */
export interface RouteAccess {
  readonly group: RouteGroup | 'operations';
  readonly units: number;
  /** Price in place of `units` if the answer is cached. */
  readonly unitsIfCached?: number;
  /** Price of each full KiB that is sent to others for the request, in addition. */
  readonly unitsPerKiB?: number;
  /** Price of each validator that is searched for, in addition. */
  readonly unitsPerValidator?: number;
  /** Price of each full hundred messages that are shown, in addition. */
  readonly unitsPer100Messages?: number;
  /** Price in place of `units` of an answer that is a stream without an end, and of each minute of it in addition. */
  readonly stream?: { readonly units: number; readonly unitsPerMinute: number };
  /** Price of each full hundred validators that are asked or shown, in addition; {@link MAX_UNITS_OF_SIGNERS} at most. */
  readonly unitsPer100Signers?: number;
}

/** Rights of an API key: the routes that it may use. Any key may use those of `operate`, for its own requests. */
export type RouteGroup = 'aggregation' | 'data' | 'rpc' | 'operate';

/** Asks many validators and checks a pairing. At 2,000 validators the work is a dozen times that at 20. */
export const AGGREGATION_ACCESS = {
  group: 'aggregation',
  units: 10,
  unitsIfCached: 1,
  unitsPer100Signers: 1,
} satisfies RouteAccess;
/** Larger than any existing set needs, and less than a minute's units. */
export const MAX_UNITS_OF_SIGNERS = 20;
/** Each byte of the client's message goes to each validator that is asked. Most messages have less than a KiB. */
export const MESSAGE_AGGREGATION_ACCESS = { ...AGGREGATION_ACCESS, unitsPerKiB: 1 } satisfies RouteAccess;
/** Connects the validators of a subnet, or looks up a set and checks a pairing. */
export const VIEW_ACCESS: RouteAccess = { group: 'aggregation', units: 5 };
/** Reads the whole set for each page of it, on the main thread: 22 ms with 10,000 validators. */
export const SUBNET_VIEW_ACCESS = { ...VIEW_ACCESS, unitsPer100Signers: 1 } satisfies RouteAccess;
/** Asks all validators of an L1 several times, and then for their signatures. */
export const UPTIME_ACCESS: RouteAccess = { group: 'aggregation', units: 30 };
/** Searches for each validator of a page. */
export const UPTIMES_ACCESS = {
  group: 'aggregation',
  units: 5,
  unitsPerValidator: UPTIME_ACCESS.units,
} satisfies RouteAccess;
/** Answers from memory. */
export const LOOKUP_ACCESS: RouteAccess = { group: 'aggregation', units: 1 };
/** Reads stored messages: a database on the main thread. */
export const FEED_ACCESS = {
  group: 'aggregation',
  units: 1,
  unitsPer100Messages: 1,
  stream: { units: 10, unitsPerMinute: 1 },
} satisfies RouteAccess;
export const DATA_ACCESS: RouteAccess = { group: 'data', units: 1 };
/** Price of each call of a batch: a call takes the node's global lock. */
export const RPC_ACCESS: RouteAccess = { group: 'rpc', units: 2 };
/** Reads records of requests; finding one may read the list that replicas share. */
export const RECORDS_ACCESS: RouteAccess = { group: 'operate', units: 5 };
/** Reads what is made at most once a second. */
export const FIGURES_ACCESS: RouteAccess = { group: 'operate', units: 1 };
/** Reads up to a thousand blocks. */
export const REPLAY_ACCESS: RouteAccess = { group: 'operate', units: 10 };
/** Free for all: probes and scrapes must not fail because they are frequent. */
export const OPERATIONS_ACCESS: RouteAccess = { group: 'operations', units: 0 };

export function unitsForSigners({ unitsPer100Signers = 0 }: RouteAccess, validators: number): number {
  return Math.min(MAX_UNITS_OF_SIGNERS, unitsPer100Signers * Math.floor(validators / 100));
}
