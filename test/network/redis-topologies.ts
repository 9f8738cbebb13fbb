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

export interface RedisCluster extends AsyncDisposable {
  /** Three that have keys, then a replica of each. */
  readonly nodes: readonly RedisProcess[];
}

/** Resolves when all its slots are served and its replicas are in step. */
export async function startRedisCluster(): Promise<RedisCluster> {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'redis-cluster-'));
  opened.defer(() => rm(directory, { recursive: true }));
  const nodes: RedisProcess[] = [];
  const busPorts: number[] = [];
  for (let index = 0; index < 6; index += 1) {
    // The usual one, 10,000 higher, may be beyond the last port.
    const busPort = await findFreePort();
    const further = [
      ...['--cluster-enabled', 'yes', '--cluster-config-file', join(directory, `nodes-${index}.conf`)],
      ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--cluster-port', String(busPort)],
    ];
    nodes.push(opened.use(await startRedis({ further })));
    busPorts.push(busPort);
  }
  const commands = await Promise.all(nodes.map(openCommands));
  try {
    const [first] = commands as [Commands];
    for (const [index, command] of commands.entries()) {
      if (index < 3) {
        const from = Math.floor((index * SLOTS) / 3);
        const to = Math.floor(((index + 1) * SLOTS) / 3) - 1;
        await command.run('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to));
      }
      if (index > 0) {
        await first.run('CLUSTER', 'MEET', '127.0.0.1', String(nodes[index]!.port), String(busPorts[index]));
      }
    }
    await until(async () => (await first.text('CLUSTER', 'INFO')).includes('cluster_known_nodes:6'));
    for (const index of [0, 1, 2]) {
      const masterID = await commands[index]!.text('CLUSTER', 'MYID');
      const replica = commands[index + 3]!;
      await until(async () => (await replica.text('CLUSTER', 'NODES')).includes(masterID));
      await replica.run('CLUSTER', 'REPLICATE', masterID);
    }
    for (const [index, command] of commands.entries()) {
      await until(async () => (await command.text('CLUSTER', 'INFO')).includes('cluster_state:ok'));
      if (index >= 3) await until(async () => (await command.text('INFO', 'replication')).includes('link_status:up'));
    }
  } finally {
    for (const command of commands) command.end();
  }
  const closing = opened.move();
  return { nodes, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

export interface RedisWithSentinel extends AsyncDisposable {
  readonly master: RedisProcess;
  readonly replica: RedisProcess;
  readonly sentinel: RedisProcess;
}

/** Resolves when the sentinel knows the replica, so that it can take over. */
export async function startRedisWithSentinel(name: string): Promise<RedisWithSentinel> {
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
  const command = await openCommands(sentinel);
  try {
    await until(async () => (await command.text('SENTINEL', 'REPLICAS', name)).includes(String(replica.port)));
    await until(async () => (await command.text('SENTINEL', 'REPLICAS', name)).includes('ok'));
  } finally {
    command.end();
  }
  const closing = opened.move();
  return { master, replica, sentinel, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

interface Commands {
  run(...args: string[]): Promise<unknown>;
  text(...args: string[]): Promise<string>;
  end(): void;
}

async function openCommands({ port }: RedisProcess): Promise<Commands> {
  const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 2 });
  await client.connect();
  return {
    run: (...args) => client.sendCommand(args),
    async text(...args) {
      const answer = await client.sendCommand(args);
      return typeof answer === 'string' ? answer : JSON.stringify(answer);
    },
    end: () => client.destroy(),
  };
}

/** What other processes come to in their own time. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  await pollUntil(isSo, (isReached) => isReached, SETTLE_TIMEOUT_MS);
}
