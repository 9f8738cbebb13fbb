import { WrongNetworks } from '../app.ts';
import { type LoadedConfig, loadConfig } from '../config/load-config.ts';
import { printableConfig } from '../config/printable-config.ts';
import { ConfigError } from '../config/problems.ts';
import { IdentityError } from '../p2p/identity.ts';
import { StoreError } from '../store/validation-store.ts';
import { nodeIDOf } from './identity.ts';
import { listenForStop, Stopped, serve } from './serve.ts';
import { type ServiceOptions, settingsOf } from './service-options.ts';

/**
 * Serves, or prints what the options ask for, and returns the exit code. It is 1 for every failure that the configuration has no part
 * in, so that whatever keeps the service running starts it anew.
 */
export async function runService(command: 'serve' | 'identity', options: ServiceOptions): Promise<number> {
  const settings = settingsOf(options);
  try {
    if (options.checkConfig === true) process.stdout.write(`ok: ${summary(loadConfig(settings))}\n`);
    else if (options.printConfig === true) {
      process.stdout.write(`${JSON.stringify(printableConfig(loadConfig(settings)), undefined, 2)}\n`);
    } else if (command === 'identity') process.stdout.write(`${await nodeIDOf(loadConfig(settings).config)}\n`);
    else await serve(() => loadConfig(settings), listenForStop());
    return 0;
  } catch (error) {
    if (error instanceof Stopped) return 0;
    const { text, exitCode } = describeFailure(error);
    process.stderr.write(`${text}\n`);
    return exitCode;
  }
}

/** The configuration in one line. */
function summary({ config: { networks, server, access, upstream, store } }: LoadedConfig): string {
  const names = networks.map(({ name, aliases, embedded }) => {
    const more = [...(embedded ? [`embedded, ${embedded.validators} validators`] : []), ...aliases];
    return more.length > 0 ? `${name} (${more.join(', ')})` : name;
  });
  const endpoints = Object.keys(upstream.endpoints);
  return [
    `serves ${names.join(' and ')} on ${server.host} port ${server.port}`,
    `upstreams ${endpoints.length > 0 ? endpoints.join(', ') : 'none'}`,
    access.unitsPerMinute === 0 ? 'no rate limit' : `${access.unitsPerMinute} units per minute and address`,
    `${access.apiKeys.length} API keys`,
    `store ${store.path ?? 'none'}${store.shared === undefined ? '' : ', shared through Redis'}`,
  ].join('; ');
}

function describeFailure(error: unknown): { text: string; exitCode: number } {
  if (error instanceof ConfigError) return { text: `configuration: ${error.message}`, exitCode: 2 };
  if (error instanceof WrongNetworks) return { text: `configuration: ${error.message}`, exitCode: 2 };
  if (error instanceof StoreError) return { text: `store: ${error.message}`, exitCode: 2 };
  if (error instanceof IdentityError) return { text: `staking identity: ${error.message}`, exitCode: 2 };
  return { text: `could not run: ${describeError(error)}`, exitCode: 1 };
}

/** Where the system refuses something, such as a port in use, the message is enough. Anything else is a bug, and needs its stack. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const advice = listenAdvice(error);
  if (advice !== undefined) return `${error.message}: ${advice}`;
  return 'syscall' in error ? error.message : (error.stack ?? error.message);
}

/** What to do where the service cannot listen; undefined for other errors. */
export function listenAdvice(error: NodeJS.ErrnoException): string | undefined {
  if (error.syscall !== 'listen') return undefined;
  switch (error.code) {
    case 'EADDRINUSE':
      return 'another program listens on this port; take another one by --port or the setting server.port, or 0 for any free one';
    case 'EACCES':
      return 'this port needs more rights; take another one by --port or the setting server.port';
    case 'EADDRNOTAVAIL':
      return 'this machine has no such address; give another one by --host or the setting server.host';
    case undefined:
    default:
      return undefined;
  }
}
