import { type LoadedConfig, loadConfig } from '../../config/load/load-config.ts';
import { printableConfig } from '../../config/load/printable-config.ts';
import { IdentityError, openIdentity } from '../../p2p/identity/identity.ts';
import { EXIT } from '../io/exit-codes.ts';
import type { ServiceOptions } from '../io/service-options.ts';
import { print } from '../io/text.ts';

/** @throws {CommandFailure}, {@link ConfigError}, {@link IdentityError} */
export async function runService(options: ServiceOptions): Promise<number> {
  if (options.checkConfig === true) {
    const loaded = loadConfig(options);
    for (const warning of loaded.warnings) process.stderr.write(`${warning}\n`);
    print(`ok: ${summary(loaded)}`);
  } else if (options.printConfig === true) {
    print(JSON.stringify(printableConfig(loadConfig(options)), undefined, 2));
  } else {
    // Loads the whole service, which the other options do not need.
    const { serve } = await import('./serve.ts');
    return await serve(() => loadConfig(options));
  }
  return EXIT.done;
}

function summary({ config: { devnet, networks, server, access, upstream, store } }: LoadedConfig): string {
  const names = networks.map(({ name, aliases }) => {
    const more = [...(name === devnet?.network ? [`devnet, ${devnet.validators} validators`] : []), ...aliases];
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
    access.unitsPerMinute === undefined ? 'no rate limit' : `${access.unitsPerMinute} units per minute and address`,
    `${access.apiKeys.length} API keys`,
    `store ${store.path ?? 'none'}${store.shared === undefined ? '' : ', shared through Redis'}`,
  ].join('; ');
}

/**
 * Prints the NodeID for the allow lists of L1s. A missing identity is created, so that its NodeID is known before the first start.
 *
 * @throws {ConfigError}, {@link IdentityError}
 */
export async function printIdentity(options: Pick<ServiceOptions, 'config'>): Promise<number> {
  const { identity } = loadConfig(options).config;
  if (identity === undefined) {
    throw new IdentityError(
      'none is configured, so each start creates a new one; set identity.directory, such as ' +
        'SIGNATURE_AGGREGATOR_IDENTITY__DIRECTORY=/var/lib/aggregator/identity',
    );
  }
  print((await openIdentity(identity)).nodeID);
  return EXIT.done;
}
