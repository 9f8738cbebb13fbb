import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { Admission, AdmissionRequest } from './admission.ts';
import type { Penalties } from './penalties.ts';

export interface LookupRequest extends AdmissionRequest {
  /** Whether the P-Chain may not know what the request names: then a lookup that finds nothing costs the client points. */
  readonly mayFindNothing: boolean;
}

/** Lookups of what requests name. Equal ones share a flight, which holds a permit. */
export interface Lookups {
  /** @throws {AggregatorError} `overloaded`, what `find` throws, or the signal's reason */
  run<T>(
    key: string,
    request: LookupRequest,
    find: (flight: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
}

export function createLookups({
  admission,
  penalties,
}: {
  readonly admission: Pick<Admission, 'lookUp'>;
  readonly penalties: Pick<Penalties, 'lookUp'>;
}): Lookups {
  const flights = new SingleFlight<string, unknown>();
  return {
    async run<T>(
      key: string,
      request: LookupRequest,
      find: (flight: AbortSignal) => Promise<T>,
      signal: AbortSignal,
    ): Promise<T> {
      const lookUp = async (flight: AbortSignal): Promise<T> => {
        const work = async (): Promise<T> => {
          using _permit = admission.lookUp(request);
          return await find(flight);
        };
        return request.mayFindNothing ? await penalties.lookUp(request.client, work) : await work();
      };
      return (await flights.run(key, lookUp, signal)) as T;
    },
  };
}
