import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { StreamLimit } from '../../../../src/api/feed/stream-limit.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';

const LIMITS = { total: 6, each: 4 };

function start() {
  const registry = new Registry();
  const limit = new StreamLimit(createMetrics(registry), LIMITS);
  const running: string[] = [];
  /** Opens a stream of a client, which has this name, and ends it when it is displaced. */
  async function open(client: string, name: string): Promise<void> {
    await limit.run(client, (displaced) => {
      running.push(name);
      return new Promise((resolve) => {
        displaced.addEventListener('abort', () => {
          running.splice(running.indexOf(name), 1);
          resolve('displaced');
        });
      });
    });
  }
  const openAll = (client: string, count: number) => {
    for (let index = 0; index < count; index += 1) void open(client, `${client}${index}`);
  };
  return { running, open, openAll, registry };
}

describe('at the limit of all streams', () => {
  test('the oldest stream of the client that has most is ended for a client that has fewer', async () => {
    const { running, open, openAll, registry } = start();
    openAll('a', 2);
    openAll('b', 4);
    void open('c', 'c0');
    expect(running).toEqual(['a0', 'a1', 'b1', 'b2', 'b3', 'c0']);
    void open('c', 'c1');
    expect(running).toEqual(['a0', 'a1', 'b2', 'b3', 'c0', 'c1']);
    await Promise.resolve();
    const text = await registry.metrics();
    expect(text).toContain('feed_readers_closed_total{reason="displaced"} 2');
    expect(text).toMatch(/feed_readers 6$/m);
  });

  test('a client that would have as many as the one that has most is refused', async () => {
    const { running, open, openAll } = start();
    openAll('a', 3);
    openAll('b', 3);
    await expect(open('a', 'a3')).rejects.toMatchObject({ code: 'overloaded' });
    for (const client of ['c', 'd']) void open(client, client);
    expect(running).toEqual(['a1', 'a2', 'b1', 'b2', 'c', 'd']);
    await expect(open('c', 'c1')).rejects.toThrow('there are 6 streams of messages, and cannot have more');
  });
});

test('a client has a limit of its own', async () => {
  const { open, openAll, running } = start();
  openAll('a', 4);
  await expect(open('a', 'a4')).rejects.toThrow('the client has 4 streams');
  expect(running).toHaveLength(4);
});
