import type { Dispatcher } from 'undici';
import type { Outside } from '../../src/network/network-parts.ts';
import type { ClockView, VirtualTime } from '../support/fake-clock.ts';
import type { SimulatedHttp } from './simulated-api.ts';
import type { SimulatedEnd, SimulatedNet } from './simulated-net.ts';
import type { SimulatedRedis } from './simulated-redis.ts';

/** What one process of the service has of the world, and loses at once when it is killed. */
export class SimulatedProcess {
  /** Unique among processes. */
  readonly number: number;
  readonly clock: ClockView;
  readonly outside: Outside;
  readonly #redis: SimulatedRedis | undefined;
  readonly #http: SimulatedHttp;
  readonly #ends = new Set<SimulatedEnd>();
  readonly #pools = new Set<Dispatcher>();
  readonly #killed = Promise.withResolvers<void>();
  isKilled = false;

  constructor(
    number: number,
    world: {
      readonly time: VirtualTime;
      readonly net: SimulatedNet;
      readonly http: SimulatedHttp;
      readonly redis: SimulatedRedis | undefined;
    },
  ) {
    this.number = number;
    this.clock = world.time.view();
    this.#redis = world.redis;
    this.#http = world.http;
    this.outside = {
      dial: (endpoint, events) => {
        const end = world.net.dial(endpoint, events) as SimulatedEnd;
        this.#ends.add(end);
        if (this.isKilled) end.abandon();
        return end;
      },
      openHttp: (origin, options) => {
        const pool = world.http.open(origin, options);
        this.#pools.add(pool);
        if (this.isKilled) world.http.abandon(pool);
        return pool;
      },
    };
  }

  /** Resolves when it is killed. */
  get killed(): Promise<void> {
    return this.#killed.promise;
  }

  /** Ends the process like SIGKILL: sent data arrives, nothing else happens. */
  kill(): void {
    this.isKilled = true;
    this.clock.stop();
    this.#redis?.abandon(this.number);
    for (const end of this.#ends) end.abandon();
    for (const pool of this.#pools) this.#http.abandon(pool);
    this.#killed.resolve();
  }
}
