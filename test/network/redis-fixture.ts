import { createClient } from '@redis/client';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type RedisProcess, startRedis } from './redis-process.ts';

/** What the log says of the store. */
export const CONNECTED = 'the shared store is connected';
export const AWAY = 'the shared store is away';

/** A Redis that stands while a test runs. */
export interface RedisFixture {
  readonly process: RedisProcess;
  readonly url: string;
  /** A client of the test's own, that looks into it. */
  readonly inspector: ReturnType<typeof createInspector>;
}

/** One for all tests of the file that calls this, empty before each. */
export function useRedis(): RedisFixture {
  const { start, end, fixture } = prepare();
  beforeAll(start);
  beforeEach(async () => void (await fixture.inspector.flushAll()));
  afterAll(end);
  return fixture;
}

/** Another one for each test of the block that calls this, for those that break it. */
export function useRedisOfEachTest(): RedisFixture {
  const { start, end, fixture } = prepare();
  beforeEach(start);
  afterEach(end);
  return fixture;
}

function prepare() {
  let started: Omit<RedisFixture, 'url'> | undefined;
  const standing = (): Omit<RedisFixture, 'url'> => {
    if (started === undefined) throw new Error('there is no Redis outside of tests');
    return started;
  };
  const fixture: RedisFixture = {
    get process() {
      return standing().process;
    },
    get url() {
      return `redis://127.0.0.1:${standing().process.port}`;
    },
    get inspector() {
      return standing().inspector;
    },
  };
  return {
    fixture,
    async start(): Promise<void> {
      const process = await startRedis();
      const inspector = createInspector(process);
      started = { process, inspector };
      await inspector.connect();
    },
    async end(): Promise<void> {
      started?.inspector.destroy();
      await started?.process[Symbol.asyncDispose]();
      started = undefined;
    },
  };
}

function createInspector({ port }: RedisProcess) {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  // A test may end the server.
  client.on('error', () => undefined);
  return client;
}
