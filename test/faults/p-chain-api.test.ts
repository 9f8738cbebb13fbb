import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { holdClosedPort } from '../integration/closed-port.ts';
import { startService } from '../integration/service/running-service.ts';

/** Age from which a height is requested again. */
const HEIGHT_AGE_MS = 1_001;

// What counts as a failure of an API, and its recovery, is tested with its client.
test('a P-Chain API that is down is replaced by the second URL; without that, requests fail', async () => {
  await using closed = await holdClosedPort();
  const network = {};
  let skippedMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs };
  await using service = await startService(5, {
    settings: { network, clock },
    async prepare({ apiUrl }) {
      Object.assign(network, { pChainApi: [{ baseUrl: `http://127.0.0.1:${closed.port}` }, { baseUrl: apiUrl }] });
    },
  });
  const { devnet } = service;
  const ask = () => service.post({ message: devnet.emitMessages(1)[0] });
  expect(await ask()).toMatchObject({ status: 201 });
  await devnet.closeApi();
  skippedMs += HEIGHT_AGE_MS;
  expect(await ask()).toMatchObject({ status: 503, body: { code: 'p_chain_unavailable' } });
});
