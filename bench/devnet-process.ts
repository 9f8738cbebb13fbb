import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify from 'fastify';
import { startDevnet } from '../src/devnet/devnet.ts';
import { registerDevnetRoutes } from '../src/devnet/devnet-routes.ts';
import { systemClock } from '../src/primitives/clock.ts';
import { createLogger } from '../src/telemetry/logger.ts';

/**
 * The embedded network in a process of its own, so that what is measured is the service and not its validators. Prints one
 * JSON line when it is up, and ends with its parent.
 */
const devnet = await startDevnet({
  validators: Number(process.argv[2]),
  clock: systemClock,
  logger: createLogger('warn'),
});
const server = fastify().withTypeProvider<TypeBoxTypeProvider>();
registerDevnetRoutes(server, () => devnet, 'fuji');
const url = await server.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ url, apiUrl: devnet.apiUrl }));
process.stdin.on('end', () => process.exit(0)).resume();
