import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { followLog } from '../service-log.ts';
import type { RealNetwork } from './real-network.ts';

const ENTRY = join(import.meta.dirname, '..', '..', 'src', 'start.js');

/** Far above what any request may take, so that a slow one fails by its measured time. */
const REQUEST_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 20_000;
const POLL_INTERVAL_MS = 25;

/** What of the service's configuration differs between tests. */
export interface ServiceSettings {
  /** The base URL of the one node, or of a proxy before it, that the service is told. */
  readonly apiUrl: string;
  readonly trackedSubnetIds?: readonly string[];
  readonly stakingCertPath?: string;
  readonly stakingKeyPath?: string;
  readonly storePath?: string;
}

export interface AggregationRequestBody {
  readonly message?: string;
  readonly justification?: string;
  readonly signingSubnetId?: string;
  readonly quorumPercentage?: number;
  readonly quorumPercentageBuffer?: number;
  readonly pChainHeight?: number;
  readonly destinationBlockchainId?: string;
}

/** The parts of every kind of answer that tests look at. */
export interface AnswerBody {
  readonly signedMessage?: string;
  readonly pChainHeight?: number;
  readonly signingSubnetId?: string;
  /** A decimal number; so is `totalWeight`. */
  readonly signedWeight?: string;
  readonly totalWeight?: string;
  readonly signers?: readonly string[];
  readonly message?: string;
  readonly statusCode?: number;
  readonly error?: string;
  readonly details?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: AnswerBody;
  readonly headers: Headers;
  /** From the request to the end of the answer's body. */
  readonly tookMs: number;
}

export interface Readiness {
  readonly status: number;
  readonly nodeId: string;
  readonly subnets: readonly {
    readonly subnetId: string;
    readonly status: 'up' | 'down';
    readonly connectedWeight?: string;
    readonly totalWeight?: string;
  }[];
}

/** The service as users run it: a process of its own, with a configuration file. */
export interface ServiceProcess extends AsyncDisposable {
  readonly url: string;
  /** `performance.now()` of the moment just before the process was started. */
  readonly startedAtMs: number;
  aggregate(body: AggregationRequestBody, network?: string): Promise<Answer>;
  /** @param query such as `?destinationBlockchainId=…` */
  aggregateOf(txHash: string, query?: string): Promise<Answer>;
  readiness(): Promise<Readiness>;
  /** Waits until the readiness is as asked for, at most `timeoutMs`. */
  awaitReadiness(isReached: (readiness: Readiness) => boolean, timeoutMs: number): Promise<Readiness>;
  /** Waits until every validator of the subnets kept connected is connected. */
  awaitAllConnected(): Promise<Readiness>;
  /** Asks the process to end, as an operator would, and returns its exit code. */
  stop(): Promise<number | null>;
  /** The last lines of its log. */
  logTail(): string;
}

/** A redial's longest pause after a few failures, twice. */
const ALL_CONNECTED_TIMEOUT_MS = 60_000;

export function isReady({ status }: Readiness): boolean {
  return status === 200;
}

export function isAllConnected({ status, subnets }: Readiness): boolean {
  return status === 200 && subnets.every(({ connectedWeight, totalWeight }) => connectedWeight === totalWeight);
}

/** Returns as soon as the service listens, which is before it is ready. */
export async function startServiceProcess(
  network: RealNetwork,
  { apiUrl, trackedSubnetIds = [], stakingCertPath, stakingKeyPath, storePath }: ServiceSettings,
): Promise<ServiceProcess> {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'service-'));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const configFile = join(directory, 'config.json');
  const aliases = ['mainnet', 'fuji', 'testnet'];
  const config = {
    networks: { local: { aliases, pChainApi: [{ baseUrl: apiUrl }], trackedSubnetIds } },
    server: { port: 0 },
    log: { level: 'debug' },
    identity: { certificatePath: stakingCertPath, privateKeyPath: stakingKeyPath },
    store: { path: storePath },
  };
  await writeFile(configFile, JSON.stringify(config));

  const startedAtMs = performance.now();
  // A process group of its own, so that the network's guard can end it should we be killed.
  const child = spawn(process.execPath, [ENTRY, '--config', configFile], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const log = followLog(child);
  await once(child, 'spawn');
  const pid = child.pid as number;
  await network.call('guard', { pid });
  cleanup.defer(async () => {
    await endProcess(child);
    await network.call('unguard', { pid });
  });

  const { url } = (await log.line('listening')) as { url: string };

  const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const sentMs = performance.now();
    const response = await fetch(`${url}/v1/signatureAggregator/${path}`, {
      ...init,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const body = (await response.json()) as AnswerBody;
    return { status: response.status, body, headers: response.headers, tookMs: performance.now() - sentMs };
  };
  const readiness = async (): Promise<Readiness> => {
    const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    return { ...((await response.json()) as Omit<Readiness, 'status'>), status: response.status };
  };
  const awaitReadiness: ServiceProcess['awaitReadiness'] = async (isReached, timeoutMs) => {
    const endMs = performance.now() + timeoutMs;
    for (;;) {
      const now = await readiness();
      if (isReached(now)) return now;
      if (performance.now() > endMs) {
        throw new Error(`after ${timeoutMs} ms the service is still at ${JSON.stringify(now)}`);
      }
      await delay(POLL_INTERVAL_MS);
    }
  };

  const opened = cleanup.move();
  return {
    url,
    startedAtMs,
    readiness,
    awaitReadiness,
    awaitAllConnected: () => awaitReadiness(isAllConnected, ALL_CONNECTED_TIMEOUT_MS),
    aggregate: (body, name = 'fuji') =>
      ask(`${name}/aggregateSignatures`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    aggregateOf: (txHash, query = '') => ask(`fuji/aggregateSignatures/${txHash}${query}`),
    async stop() {
      await endProcess(child);
      return child.exitCode;
    },
    logTail: () => log.tail(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function endProcess(child: ChildProcessByStdio<null, null, Readable>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}
