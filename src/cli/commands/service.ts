import { type LoadedConfig, loadConfig } from '../../config/load/load-config.ts';
import { printableConfig } from '../../config/load/printable-config.ts';
import { EXIT } from '../exit-codes.ts';
import { asConfigFailure } from '../io/config-failure.ts';
import { type ServiceOptions, settingsOf } from '../io/service-options.ts';
import { nodeIDOf } from './identity.ts';

/** Serves, or prints what the options ask for, and returns the exit code. */
export async function runService(command: 'serve' | 'identity', options: ServiceOptions): Promise<number> {
  const settings = settingsOf(options);
  try {
    if (options.checkConfig === true) process.stdout.write(`ok: ${summary(loadConfig(settings))}\n`);
    else if (options.printConfig === true) {
      process.stdout.write(`${JSON.stringify(printableConfig(loadConfig(settings)), undefined, 2)}\n`);
    } else if (command === 'identity') process.stdout.write(`${await nodeIDOf(loadConfig(settings).config)}\n`);
    else {
      // All of the service, which the others do without.
      const { serve } = await import('./serve.ts');
      return await serve(() => loadConfig(settings));
    }
    return EXIT.done;
  } catch (error) {
    throw asConfigFailure(error);
  }
}

/** The configuration in one line. */
function summary({ config: { networks, server, access, upstream, store } }: LoadedConfig): string {
  const names = networks.map(({ name, aliases, embedded }) => {
    const more = [...(embedded ? [`embedded, ${embedded.validators} validators`] : []), ...aliases];
    return more.length > 0 ? `${name} (${more.join(', ')})` : name;
  });
  const endpoints = Object.keys(upstream.endpoints);
  const ports = [
    ...(server.ownApi ? [server.port] : []),
    ...networks.flatMap(({ goApi }) => [goApi.apiPort ?? [], goApi.metricsPort ?? []].flat()),
  ];
  return [
    `serves ${names.join(' and ')} on ${server.host} port ${ports.join(', ')}`,
    `upstreams ${endpoints.length > 0 ? endpoints.join(', ') : 'none'}`,
    access.unitsPerMinute === 0 ? 'no rate limit' : `${access.unitsPerMinute} units per minute and address`,
    `${access.apiKeys.length} API keys`,
    `store ${store.path ?? 'none'}${store.shared === undefined ? '' : ', shared through Redis'}`,
  ].join('; ');
}
