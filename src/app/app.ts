import type { Devnet } from '../devnet/devnet.ts';
import { ConsolePart } from './console-part.ts';
import { type Core, type CoreOptions, startCore } from './core.ts';
import { type DevnetPartOptions, startDevnetPart } from './devnet-part.ts';
import { limitConnections } from './file-limits.ts';

export interface AppOptions
  extends Omit<CoreOptions, 'connections' | 'parts' | 'examples' | 'startPage'>,
    Pick<DevnetPartOptions, 'signal' | 'onProgress'> {}

/** The whole service. Disposing of it closes it; running requests have the shutdown timeout. */
export interface App extends Core {
  /** Undefined without a devnet in the configuration. */
  readonly devnet: Devnet | undefined;
  /** Prepares the console's files, which the first visitor would wait for. */
  prepareConsole(): Promise<void>;
}

/** Starts the service with the parts that the configuration has; first the devnet. */
export async function startApp({ signal, onProgress, ...options }: AppOptions): Promise<App> {
  const { clock, logger } = options;
  const { server, metrics } = options.config;
  // First, because the devnet may need more files than there are.
  const connections = limitConnections(options.config, logger, options.limits?.fileLimit);
  await using opened = new AsyncDisposableStack();
  const devnet = opened.use(await startDevnetPart(options.config, { clock, logger, signal, onProgress }));
  const config = devnet?.applyTo(options.config) ?? options.config;
  const areFiguresPublic = metrics.port === undefined;
  const console =
    server.ownApi && server.console
      ? new ConsolePart({ hasDevnet: devnet !== undefined, areFiguresPublic })
      : undefined;
  opened.use(console);
  const core = opened.use(
    await startCore({
      ...options,
      config,
      connections,
      parts: [devnet, console].filter((part) => part !== undefined),
      examples: devnet?.examples,
      startPage: console?.sendPage,
    }),
  );
  const closing = opened.move();
  return {
    ...core,
    devnet: devnet?.devnet,
    prepareConsole: async () => console?.prepare(),
    update: (next) => core.update(devnet?.applyTo(next) ?? next),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
