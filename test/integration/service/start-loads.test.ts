import { expect, test } from 'vitest';
import { startServiceChild } from './service-child.ts';

/** Tells, when the service ends, what its event loop has loaded. */
const SPY = `
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  import { isMainThread } from 'node:worker_threads';
  const files = new Set();
  if (isMainThread) {
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context);
        files.add(found.url);
        return found;
      },
    });
    process.on('exit', () => {
      const builtins = process.moduleLoadList.filter((name) => name.includes('undici'));
      writeSync(2, JSON.stringify({ msg: 'loaded', files: [...files, ...builtins] }) + '\\n');
    });
  }
`;

/** What each is for: the document and its page, upstreams, traces, replicas, pairings in another thread, the devnet. */
const LATER =
  /@fastify\/(?:swagger|static)|\/yaml\b|esbuild|undici|@opentelemetry\/(?!api)|@redis|@noble\/curves|src\/devnet\//;

async function loadedBy(...paths: string[]): Promise<string[]> {
  await using service = await startServiceChild(
    {
      // No process listens there, so the network is never open.
      networks: { own: { pChainApi: [{ baseUrl: 'http://127.0.0.1:1' }] } },
      server: { port: 0 },
      log: { level: 'info' },
    },
    ['--import', `data:text/javascript,${encodeURIComponent(SPY)}`],
  );
  for (const path of ['/health/live', '/health/ready', ...paths]) await service.get(path);
  service.child.kill('SIGTERM');
  return ((await service.log.line('loaded'))['files'] as string[]).filter((file) => LATER.test(file));
}

test('a service that only answers health checks has not loaded the code of other requests', async () => {
  expect(await loadedBy()).toEqual([]);
  expect(await loadedBy('/openapi.json')).toContainEqual(expect.stringContaining('@fastify/swagger'));
});
