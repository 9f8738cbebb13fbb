import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { pollUntil } from './poll-until.ts';
import { findFreePort, type RedisProcess, startRedis } from './redis-process.ts';

/** A Redis Cluster and a Redis behind a sentinel, smaller than in production and with shorter timeouts. */

const SLOTS = 16_384;
/** Silence after which a node counts as gone: a second, where production has five to fifteen. */
const NODE_TIMEOUT_MS = 1_000;
const SETTLE_TIMEOUT_MS = 30_000;

/** Three nodes that have keys, then a replica of each. Resolves when all slots are served and the replicas are in step. */
export async function startRedisCluster() {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'redis-cluster-'));
  opened.defer(() => rm(directory, { recursive: true }));
  const nodes: RedisProcess[] = [];
  const busPorts: number[] = [];
  for (let index = 0; index < 6; index += 1) {
    // The usual one, 10,000 higher, may be beyond the last port.
    const busPort = await findFreePort();
    const further = [
      '--cluster-enabled',
      'yes',
      '--cluster-config-file',
      join(directory, `nodes-${index}.conf`),
      '--cluster-node-timeout',
      String(NODE_TIMEOUT_MS),
      '--cluster-port',
      String(busPort),
    ];
    nodes.push(opened.use(await startRedis({ further })));
    busPorts.push(busPort);
  }
  using connections = new DisposableStack();
  const commands = [];
  for (const node of nodes) commands.push(connections.use(await openCommands(node)));
  const [first] = commands as [(typeof commands)[number]];
  for (const [index, command] of commands.entries()) {
    if (index < 3) {
      const from = Math.floor((index * SLOTS) / 3);
      const to = Math.floor(((index + 1) * SLOTS) / 3) - 1;
      await command.text('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to));
    }
    if (index > 0) {
      await first.text('CLUSTER', 'MEET', '127.0.0.1', String(nodes[index]!.port), String(busPorts[index]));
    }
  }
  await until(async () => (await first.text('CLUSTER', 'INFO')).includes('cluster_known_nodes:6'));
  for (const index of [0, 1, 2]) {
    const masterID = await commands[index]!.text('CLUSTER', 'MYID');
    const replica = commands[index + 3]!;
    await until(async () => (await replica.text('CLUSTER', 'NODES')).includes(masterID));
    await replica.text('CLUSTER', 'REPLICATE', masterID);
  }
  for (const [index, command] of commands.entries()) {
    await until(async () => (await command.text('CLUSTER', 'INFO')).includes('cluster_state:ok'));
    if (index >= 3) await until(async () => (await command.text('INFO', 'replication')).includes('link_status:up'));
  }
  const closing = opened.move();
  return { nodes, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** Resolves when the sentinel knows the replica, so that it can take over. */
export async function startRedisWithSentinel(name: string) {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'redis-sentinel-'));
  opened.defer(() => rm(directory, { recursive: true }));
  const master = opened.use(await startRedis());
  const replica = opened.use(await startRedis({ further: ['--replicaof', '127.0.0.1', String(master.port)] }));
  const file = join(directory, 'sentinel.conf');
  const lines = [
    `sentinel monitor ${name} 127.0.0.1 ${master.port} 1`,
    `sentinel down-after-milliseconds ${name} ${NODE_TIMEOUT_MS}`,
    `sentinel failover-timeout ${name} 3000`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const sentinel = opened.use(await startRedis({ sentinelFile: file }));
  using command = await openCommands(sentinel);
  await until(async () => (await command.text('SENTINEL', 'REPLICAS', name)).includes(String(replica.port)));
  await until(async () => (await command.text('SENTINEL', 'REPLICAS', name)).includes('ok'));
  const closing = opened.move();
  return { master, replica, sentinel, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

/** A client of a server; answers are texts or JSON. */
async function openCommands({ url }: RedisProcess) {
  const client = await createClient({ url, RESP: 2 }).connect();
  return {
    async text(...args: string[]): Promise<string> {
      const answer = await client.sendCommand(args);
      return typeof answer === 'string' ? answer : JSON.stringify(answer);
    },
    [Symbol.dispose]: () => client.destroy(),
  };
}

/** Waits for what other processes come to in their own time. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  await pollUntil(isSo, (isReached) => isReached, SETTLE_TIMEOUT_MS);
}
