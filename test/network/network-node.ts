import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { callJsonRpc } from './json-rpc.ts';
import type { NetworkBinaries } from './network-binaries.ts';
import { pollUntil } from './poll-until.ts';
import type { NodePOP, Testnet } from './testnet.ts';

/** A node is healthy 3 to 4 s after its start on an idle machine. */
const START_TIMEOUT_MS = 90_000;
const POLL_INTERVAL_MS = 50;
/** A node that was asked to stop takes a second; one that does not obey is killed. */
const STOP_TIMEOUT_MS = 10_000;
const LOG_TAIL_LINES = 30;

/** A running or stopped avalanchego process. */
export interface NetworkNode {
  readonly name: string;
  readonly nodeID: string;
  readonly nodePOP: NodePOP;
  /** The base URL of its API, which stays the same when the node is started again. */
  readonly apiUrl: string;
  /** The port of its peer protocol on 127.0.0.1. */
  readonly stakingPort: number;
  /** Stops the process and waits for its end. */
  stop(): Promise<void>;
  /** Ends the process as a machine that loses its power. */
  kill(): Promise<void>;
  /**
   * Starts a stopped node again and returns when it is healthy.
   *
   * @param options.stakingPort by default the one it had; 0 for any other one that is free
   */
  start(options?: { stakingPort?: number }): Promise<void>;
  /** The last lines of what the process printed. */
  readLogTail(): Promise<string>;
}

export interface NodeSetup {
  /** Counts from 1. */
  readonly number: number;
  /**
   * A validator of the primary network has the well-known staking keys of its number. Any other node makes its own, and syncs
   * of the primary network the P-Chain only.
   */
  readonly isPrimaryValidator: boolean;
  readonly dataDir: string;
  readonly binaries: NetworkBinaries;
  readonly testnet: Testnet;
  readonly trackSubnets: readonly string[];
  /** Nodes that may connect to the tracked subnets, besides their validators; all by default. */
  readonly allowedNodes?: readonly string[] | undefined;
  /** The nodes to bootstrap from, asked for at each start; none means that the node takes its own state for the last. */
  readonly bootstrappers: () => readonly NetworkNode[];
}

/** The file that a node writes once it listens on the free ports that it chose. */
interface ProcessContext {
  readonly uri: string;
  readonly stakingAddress: string;
}

/**
 * Starts a node on free ports. Returns as soon as its API answers; health is for `awaitHealthy`, since the first nodes
 * of a network need the others for it.
 */
export async function startNetworkNode(setup: NodeSetup): Promise<NetworkNode> {
  const name = `node ${setup.number}`;
  const logFile = join(setup.dataDir, 'node.log');
  await mkdir(tempDirOf(setup), { recursive: true });

  let process = await launch(setup, logFile, { httpPort: 0, stakingPort: 0 });
  const { nodeID, nodePOP } = await callJsonRpc<{ nodeID: string; nodePOP: NodePOP }>(
    `${process.context.uri}/ext/info`,
    'info.getNodeID',
  );

  const unguard = () => setup.testnet.call('unguard', { pid: process.child.pid as number });
  const node: NetworkNode = {
    name,
    nodeID,
    nodePOP,
    get apiUrl() {
      return process.context.uri;
    },
    get stakingPort() {
      return portOf(`tcp://${process.context.stakingAddress}`);
    },
    async stop() {
      await endProcess(process.child);
      await unguard();
    },
    async kill() {
      const ended = once(process.child, 'exit');
      killGroup(process.child);
      await ended;
      await unguard();
    },
    async start({ stakingPort = node.stakingPort } = {}) {
      process = await launch(setup, logFile, { httpPort: portOf(node.apiUrl), stakingPort });
      await awaitHealthy(node);
    },
    readLogTail: () => readTail(logFile),
  };
  return node;
}

/** Returns when the node says that it is healthy: bootstrapped and connected. */
export async function awaitHealthy({ name, apiUrl, readLogTail }: NetworkNode): Promise<void> {
  const ask = async () => {
    const response = await fetch(`${apiUrl}/ext/health`);
    return { isHealthy: response.ok, body: await response.text() };
  };
  try {
    await pollUntil(ask, ({ isHealthy }) => isHealthy, START_TIMEOUT_MS);
  } catch (cause) {
    throw new Error(`${name} did not become healthy: ${String(cause)}\n${await readLogTail()}`, { cause });
  }
}

async function launch(
  setup: NodeSetup,
  logFile: string,
  ports: { httpPort: number; stakingPort: number },
): Promise<{ child: ChildProcess; context: ProcessContext }> {
  const name = `node ${setup.number}`;
  const contextFile = join(setup.dataDir, 'process.json');
  await rm(contextFile, { force: true }); // a killed node leaves its last one

  const log = openSync(logFile, 'a');
  const child = spawn(setup.binaries.avalanchego, nodeArguments(setup, contextFile, ports), {
    detached: true, // a separate process group, to kill the node together with its plugins
    stdio: ['ignore', log, log],
    // The EVM chains leave a key store there at each start.
    env: { ...process.env, TMPDIR: tempDirOf(setup) },
  });
  closeSync(log);
  await once(child, 'spawn');
  await setup.testnet.call('guard', { pid: child.pid as number });

  const deadline = AbortSignal.timeout(START_TIMEOUT_MS);
  try {
    while (!hasEnded(child)) {
      const context = await readProcessContext(contextFile);
      if (context !== undefined) {
        return { child, context };
      }
      await delay(POLL_INTERVAL_MS, undefined, { signal: deadline });
    }
    throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
  } catch (error) {
    await endProcess(child);
    throw new Error(`${name} did not start: ${String(error)}\n${await readTail(logFile)}`, { cause: error });
  }
}

function nodeArguments(
  setup: NodeSetup,
  contextFile: string,
  ports: { httpPort: number; stakingPort: number },
): string[] {
  const keyFile = (name: string) => join(setup.binaries.stakingKeysDir, name.replace('#', `${setup.number}`));
  const ofItsKind = setup.isPrimaryValidator
    ? {
        'staking-tls-cert-file': keyFile('staker#.crt'),
        'staking-tls-key-file': keyFile('staker#.key'),
        'staking-signer-key-file': keyFile('signer#.key'),
      }
    : { 'partial-sync-primary-network': true };
  const subnetConfigs = Object.fromEntries(
    setup.trackSubnets.map((subnetID) => [subnetID, { validatorOnly: true, allowedNodes: setup.allowedNodes }]),
  );
  const bootstrappers = setup.bootstrappers();
  const flags = {
    'network-id': 'local',
    'data-dir': setup.dataDir,
    'plugin-dir': setup.binaries.pluginDir,
    'process-context-file': contextFile,
    'http-host': '127.0.0.1',
    'http-port': ports.httpPort,
    'staking-host': '127.0.0.1',
    'staking-port': ports.stakingPort,
    'public-ip': '127.0.0.1',
    ...ofItsKind,
    'bootstrap-ips': bootstrappers.map((node) => `127.0.0.1:${node.stakingPort}`).join(','),
    'bootstrap-ids': bootstrappers.map((node) => node.nodeID).join(','),
    'track-subnets': setup.trackSubnets.join(','),
    ...(setup.allowedNodes !== undefined && {
      'subnet-config-content': Buffer.from(JSON.stringify(subnetConfigs)).toString('base64'),
    }),
    'fd-limit': 16_384, // machines with a hard limit below the default of 32,768 are common
    'network-initial-timeout': '500ms',
    'network-minimum-timeout': '200ms',
    'network-initial-reconnect-delay': '100ms',
    'network-max-reconnect-delay': '1s',
    'health-check-frequency': '500ms',
    'log-level': 'off', // what it prints is kept, and is the same
    'log-display-level': 'info',
  };
  return Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
}

/** A temporary directory, which is deleted with its data. */
function tempDirOf({ dataDir }: NodeSetup): string {
  return join(dataDir, 'tmp');
}

async function readProcessContext(file: string): Promise<ProcessContext | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return undefined; // not there yet, or half written
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (!hasEnded(child)) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => killGroup(child), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }
  killGroup(child); // a plugin may outlive its node by a moment
}

function killGroup(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) {
      throw error;
    }
  }
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

async function readTail(logFile: string): Promise<string> {
  const lines = (await readFile(logFile, 'utf8')).trimEnd().split('\n');
  return lines.slice(-LOG_TAIL_LINES).join('\n');
}
