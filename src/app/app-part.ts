import type { GoListenersOptions } from '../api/go-aggregator/go-listeners.ts';
import type { SendPage } from '../api/health/start-page.ts';
import type { AggregationExamples } from '../api/openapi/example-request.ts';
import type { Server } from '../http/request/http-server.ts';
import type { Clock } from '../lib/concurrency/clock.ts';
import type { ApiSource, ServedNetwork } from '../network/served-network.ts';
import type { Upstreams } from '../proxy/client/upstreams.ts';
import type { ServiceRegistry } from '../telemetry/metrics.ts';

/** Objects of the core that its parts may use. */
export interface AppCore {
  readonly clock: Clock;
  readonly registry: ServiceRegistry;
  readonly upstreams: Upstreams;
  /** Not open yet. */
  readonly networks: readonly ServedNetwork[];
  readonly version: string;
}

/** Listeners of a part, besides that of the service's API. */
export interface PartListeners {
  /** URL of the service if it has no API of its own; undefined without a listener. */
  readonly url: string | undefined;
  /** Fields of the log line about listening. */
  readonly logged: Readonly<Record<string, unknown>>;
  /** Closes them; running requests have the shutdown timeout. */
  close(): Promise<void>;
}

/** Options of each listener. */
export type ListenerOptions = Omit<GoListenersOptions, 'host' | 'ports'>;

/**
 * A part of the service that the core does not know: the devnet, the console, the Go aggregator's listeners. The core calls the members in
 * this order.
 */
export interface AppPart {
  /** Returns the source of a network's API; undefined if the API has the addresses of the configuration. */
  apiSource?(network: string): ApiSource | undefined;
  start?(core: AppCore): void;
  /** Adds its routes to those of the service's API. */
  registerRoutes?(server: Server): void;
  /** Answers browsers at `/`. */
  readonly sendPage?: SendPage;
  /** Requests to try at `/docs`; undefined while there are none. */
  examples?(): AggregationExamples | undefined;
  listen?(options: ListenerOptions, networks: readonly ServedNetwork[]): Promise<PartListeners>;
  /** Ends it after the listeners and the networks. */
  end?(): Promise<void>;
}
