import type { AccessOptions } from '../http/access/access.ts';
import type { Server } from '../http/request/http-server.ts';
import type { Clock } from '../lib/concurrency/clock.ts';
import type { ServedNetwork } from '../network/served-network.ts';
import type { ServiceRegistry } from '../telemetry/metrics.ts';

/** Objects of the core that its parts may use. */
export interface AppCore {
  readonly clock: Clock;
  readonly registry: ServiceRegistry;
  /** Not open yet. */
  readonly networks: readonly ServedNetwork[];
  readonly version: string;
  readonly access: AccessOptions;
}

/** A part of the service beside its API: the devnet, the console. Disposed of after the core. */
export interface AppPart extends AsyncDisposable {
  start?(core: AppCore): void;
  /** Adds its routes to those of the service's API. */
  routes?(server: Server): void;
}
