import { createClient } from '@redis/client';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { openSharedStore } from '../../src/store/redis/shared-store.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { createLogLines } from '../support/log-lines.ts';
import { type RedisProcess, startRedis } from './redis-process.ts';

/** What the log says of the store. */
export const CONNECTED = 'the shared store is connected';
export const AWAY = 'the shared store is away';
export const KEY_PREFIX = 'test:';

/** One Redis for all tests of the file that calls this, empty before each, and a client of the tests' own that looks into it. */
export function useRedis() {
  const opened = new AsyncDisposableStack();
  let redis: RedisProcess;
  let inspector: Awaited<ReturnType<typeof connectTo>>;
  beforeAll(async () => {
    redis = opened.use(await startRedis());
    inspector = await connectTo(redis.url);
    opened.defer(() => inspector.destroy());
  });
  beforeEach(async () => void (await inspector.flushAll()));
  afterAll(() => opened.disposeAsync());
  return {
    get url() {
      return redis.url;
    },
    get inspector() {
      return inspector;
    },
  };
}

export function connectTo(url: string) {
  return createClient({ url })
    .on('error', () => undefined)
    .connect();
}

/** Opens a replica's store on a clock that stands still: then the store is never late, however busy the machine is. */
export function openStore(url: string) {
  const networks = { local: { pChainApi: [{ baseUrl: 'http://127.0.0.1' }] } };
  const { config } = parseConfig({ networks, store: { sharedUrl: url, sharedKeyPrefix: KEY_PREFIX } }, {}, {});
  const log = createLogLines();
  const ports = { clock: new FakeClock(), random: Math.random, logger: log.logger };
  const store = openSharedStore({ ...config.store.shared!, ...ports, metrics: createMetrics(new Registry()) });
  return { store, log, [Symbol.dispose]: () => store[Symbol.dispose]() };
}
