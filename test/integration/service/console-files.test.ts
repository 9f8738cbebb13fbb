import { expect, test } from 'vitest';
import { startServiceChild } from './service-child.ts';

/** Tells of each thread that ends: those for BLS do not before the service does. */
const SPY = `
  import { writeSync } from 'node:fs';
  process.on('worker', (thread) =>
    thread.once('exit', (code) => writeSync(2, JSON.stringify({ msg: 'a thread has ended', code }) + '\\n')),
  );
`;

test('the files of the console are made once the service is ready, by a thread that ends', async () => {
  await using service = await startServiceChild(
    { networks: { local: { embedded: { validators: 5 } } }, server: { port: 0 }, log: { level: 'info' } },
    ['--import', `data:text/javascript,${encodeURIComponent(SPY)}`],
  );
  expect(await service.log.line('a thread has ended')).toMatchObject({ code: 0 });
  expect((await service.get('/health/ready')).status).toBe(200);
  const page = await service.get('/', { accept: 'text/html' });
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('console/app.js') });
  expect(service.log.tail().match(/a thread has ended/g)).toHaveLength(1);
});
