import type { Devnet } from '../devnet/devnet.ts';
import { ConsolePart } from './console-part.ts';
import { type Core, type CoreOptions, startCore } from './core.ts';
import { loadDevnetPart } from './devnet-part.ts';

export interface AppOptions extends Omit<CoreOptions, 'devnet' | 'console'> {
  /** Receives the progress of a devnet's start for people. */
  readonly onProgress?: (text: string) => void;
}

/** The whole service. Disposing of it closes it; running requests have the shutdown timeout. */
export interface App extends Core {
  /** Undefined without a devnet in the configuration, and before its start. */
  readonly devnet: Devnet | undefined;
  /** Prepares the console's files, which the first visitor would wait for. */
  prepareConsole(): Promise<void>;
}

/** Starts the service with the parts that the configuration has. */
export async function startApp({ onProgress, ...options }: AppOptions): Promise<App> {
  const { config, clock, logger } = options;
  const { server, metrics, networks, upstream } = config;
  const hasNodeUpstream = upstream.endpoints.node !== undefined;
  const devnet = await loadDevnetPart({ networks, clock, logger, hasNodeUpstream, onProgress });
  const hasFigures = metrics.port === undefined;
  const console =
    server.ownApi && server.console ? new ConsolePart({ hasDevnet: devnet !== undefined, hasFigures }) : undefined;
  const core = await startCore({ ...options, devnet, console });
  return {
    ...core,
    get devnet(): Devnet | undefined {
      return devnet?.devnet;
    },
    prepareConsole: async () => console?.prepare(),
  };
}
