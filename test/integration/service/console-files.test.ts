import { expect, test } from 'vitest';
import { startServiceChild } from './service-child.ts';

/** Logs each process that ends. */
const SPY = `
  import { subscribe } from 'node:diagnostics_channel';
  import { writeSync } from 'node:fs';
  subscribe('child_process', ({ process: child }) =>
    child.once('exit', () => writeSync(2, JSON.stringify({ msg: 'a process has ended' }) + '\\n')),
  );
`;

test('the page is bundled once the service is ready, by a process that ends', async () => {
  await using service = await startServiceChild(
    { networks: { local: { embedded: { validators: 5 } } }, server: { port: 0 }, log: { level: 'info' } },
    ['--import', `data:text/javascript,${encodeURIComponent(SPY)}`],
  );
  await service.log.line('a process has ended');
  expect((await service.get('/health/ready')).status).toBe(200);
  const page = await service.get('/', { accept: 'text/html' });
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('console/app.js') });
  expect(service.log.tail().match(/a process has ended/g)).toHaveLength(1);
});
