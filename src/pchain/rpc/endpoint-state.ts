import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import type { Rejection } from './api-error.ts';

/** Gateways change their rules rarely, and a wrong guess has to end. */
const KEPT_MS = 3_600_000;
/** Methods, each with its path, which clients can name by the ID of a chain. */
const MAX_METHODS = 256;
const MAX_WAIT_MS = 3_600_000;

/** What an endpoint refused, and until when it wants no calls. All clients of the endpoint share it. */
export type EndpointState = ReturnType<typeof createEndpointState>;

export function createEndpointState(clock: Clock) {
  const refusedMethods = new LRUCache<string, Kept<Rejection>>({ max: MAX_METHODS });
  let refusedNumbers: Kept<true> | undefined;
  let lowestHeight: Kept<bigint> | undefined;
  let waiting: Kept<string> | undefined;

  const keep = <Value>(value: Value): Kept<Value> => ({ value, untilMs: clock.monotonicMs() + KEPT_MS });
  const read = <Value>(kept: Kept<Value> | undefined): Value | undefined =>
    kept !== undefined && clock.monotonicMs() < kept.untilMs ? kept.value : undefined;

  return {
    /** Present while the endpoint wants no calls, as it said in `Retry-After`. */
    waiting(): { readonly ms: number; readonly reason: string } | undefined {
      const reason = read(waiting);
      return waiting && reason !== undefined ? { ms: waiting.untilMs - clock.monotonicMs(), reason } : undefined;
    },
    /** @param reason for clients, without hosts */
    wait(retryAfterMs: number, reason: string): void {
      waiting = { value: reason, untilMs: clock.monotonicMs() + Math.min(retryAfterMs, MAX_WAIT_MS) };
    },
    /** @param method with its path: a gateway may serve it for one chain only */
    methodRefusal: (method: string): Rejection | undefined => read(refusedMethods.get(method)),
    refuseMethod: (method: string, rejection: Rejection): void => void refusedMethods.set(method, keep(rejection)),
    /** Whether P-Chain heights are refused as numbers, so that only the set at the proposed height can be read. */
    refusesNumbers: (): boolean => read(refusedNumbers) === true,
    refuseNumbers(): void {
      refusedNumbers = keep(true);
    },
    /** P-Chain heights below it are not served; undefined if all seem to be. */
    lowestHeight: (): bigint | undefined => read(lowestHeight),
    refuseHeight(height: bigint): void {
      const lowest = read(lowestHeight);
      lowestHeight = keep(lowest === undefined || height >= lowest ? height + 1n : lowest);
    },
  };
}

interface Kept<Value> {
  readonly value: Value;
  readonly untilMs: number;
}

/** States of endpoints by their addresses with keys. */
export type EndpointStates = ReturnType<typeof createEndpointStates>;

export function createEndpointStates(clock: Clock) {
  const states = new Map<string, EndpointState>();
  return {
    /** Bound: one for each configured endpoint. */
    of({ baseUrl, queryParameters, httpHeaders }: ApiEndpoint): EndpointState {
      const key = JSON.stringify([baseUrl, queryParameters, httpHeaders]);
      const state = states.get(key) ?? createEndpointState(clock);
      states.set(key, state);
      return state;
    },
    /** Drops all states, when endpoints are configured anew. */
    reset: (): void => states.clear(),
  };
}
