import { expect, test, vi } from 'vitest';
import { printBanner } from '../../../src/devnet/banner.ts';
import { startDevnet } from '../../../src/devnet/devnet.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { nodeIDFromBytes } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';

test('the banner says how many validators of which network run, and gives lines to paste', async () => {
  await using devnet = await startDevnet({ validators: 3, clock: new FakeClock(), logger: createLogger('silent') });
  using log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  printBanner({
    url: 'http://127.0.0.1:8080',
    nodeID: nodeIDFromBytes(new Uint8Array(20)),
    devnet,
    pathName: 'mainnet',
  });
  const text = String(log.mock.calls[0]?.[0]);
  expect(devnet.nodeIDs).toHaveLength(5);
  expect(text).toContain('3 of the primary network and 2 of an L1 alone');
  expect(text).toMatch(/curl -s http:\/\/127\.0\.0\.1:8080\/v1\/signatureAggregator\/mainnet\/aggregateSignatures -H /);
  expect(text).toContain('http://127.0.0.1:8080/docs');
});
