import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { METRIC_PREFIX } from '../../src/telemetry/metrics.ts';
import { followLog } from '../support/service-log.ts';
import { pollUntil } from './poll-until.ts';
import type { RealNetwork } from './real-network.ts';

const ENTRY = join(import.meta.dirname, '..', '..', 'src', 'start.js');

/** Far above what any request may take, so that a slow one fails by its measured time. */
const REQUEST_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 20_000;

/** What of the service's configuration differs between tests. */
export interface ServiceSettings {
  /** Base URL of the one configured node, or of a proxy before it. */
  readonly apiUrl: string;
  readonly trackedSubnetIds?: readonly string[];
  readonly stakingCertPath?: string;
  readonly stakingKeyPath?: string;
  readonly storePath?: string;
  /** Interval between reads of the validator sets, where the default is too long for a test. */
  readonly validatorRefreshMs?: number;
  /** Has the process serve a second network, {@link EMBEDDED}, which it runs itself. */
  readonly withEmbedded?: boolean;
}

/** The name of the five nodes' network, which the paths may call by the public names too. */
export const LOCAL = 'local';
export const EMBEDDED = 'embedded';

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
  readonly code?: string;
  readonly details?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: AnswerBody;
  readonly headers: Headers;
  /** Time from the request to the end of the answer's body. */
  readonly tookMs: number;
}

/** Readiness of one network. */
export interface Readiness {
  readonly httpStatus: number;
  readonly name: string;
  readonly status: 'starting' | 'up' | 'degraded' | 'down';
  /** Why it is not `up`. */
  readonly reason?: string;
  readonly nodeId?: string;
  /** Where there is no such network. */
  readonly code?: string;
  readonly subnets: readonly {
    readonly subnetId: string;
    readonly status: 'up' | 'down';
    readonly reason?: string;
    readonly connectedWeight?: string;
    readonly totalWeight?: string;
  }[];
}

/** The service as users run it: a process with a configuration file. */
export interface ServiceProcess extends AsyncDisposable {
  readonly url: string;
  /** `performance.now()` of the moment just before the process was started. */
  readonly startedAtMs: number;
  aggregate(body: AggregationRequestBody, network?: string): Promise<Answer>;
  /** @param query such as `?destinationBlockchainId=…` */
  aggregateOf(txHash: string, query?: string): Promise<Answer>;
  /** Readiness of the network of the five nodes, or of another one. */
  readiness(network?: string): Promise<Readiness>;
  /** Waits until the readiness is as asked for, at most `timeoutMs`. */
  awaitReadiness(isReached: (readiness: Readiness) => boolean, timeoutMs: number, network?: string): Promise<Readiness>;
  /** Waits until requests for the network are taken: the service listens before it has the network's ID from the info API. */
  awaitOpen(network?: string): Promise<Readiness>;
  /** Waits until every validator of the subnets kept connected is connected. */
  awaitAllConnected(network?: string): Promise<Readiness>;
  /** The samples of a metric of the service, by their labels as they stand in /metrics, without braces. */
  metric(name: string): Promise<ReadonlyMap<string, number>>;
  /** Asks the process to end, as an operator would, and returns its exit code. */
  stop(): Promise<number | null>;
  /** The last lines of its log. */
  logTail(): string;
}

/** The fewest there can be. */
const EMBEDDED_VALIDATORS = 5;
const OPEN_TIMEOUT_MS = 15_000;
/** A redial's longest pause after a few failures, twice. */
const ALL_CONNECTED_TIMEOUT_MS = 60_000;

export function isReady({ httpStatus }: Readiness): boolean {
  return httpStatus === 200;
}

export function isAllConnected({ httpStatus, subnets }: Readiness): boolean {
  return httpStatus === 200 && subnets.every(({ connectedWeight, totalWeight }) => connectedWeight === totalWeight);
}

/** Returns as soon as the service listens, which is before it is ready. */
export async function startServiceProcess(network: RealNetwork, settings: ServiceSettings): Promise<ServiceProcess> {
  const { apiUrl, trackedSubnetIds = [], stakingCertPath, stakingKeyPath, storePath, validatorRefreshMs } = settings;
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'service-'));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const configFile = join(directory, 'config.json');
  const aliases = ['mainnet', 'fuji', 'testnet'];
  const config = {
    networks: {
      [LOCAL]: { aliases, pChainApi: [{ baseUrl: apiUrl }], trackedSubnetIds, validatorRefreshMs },
      ...(settings.withEmbedded && { [EMBEDDED]: { embedded: { validators: EMBEDDED_VALIDATORS } } }),
    },
    server: { port: 0 },
    log: { level: 'debug' },
    identity: { certificatePath: stakingCertPath, privateKeyPath: stakingKeyPath },
    store: { path: storePath },
  };
  await writeFile(configFile, JSON.stringify(config));

  const startedAtMs = performance.now();
  // A separate process group, so that the network's guard can end it if this process is killed.
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
  const get = (path: string) => fetch(`${url}${path}`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  const readiness = async (name = LOCAL): Promise<Readiness> => {
    const response = await get(`/health/ready/${name}`);
    return { ...((await response.json()) as Omit<Readiness, 'httpStatus'>), httpStatus: response.status };
  };
  const awaitReadiness: ServiceProcess['awaitReadiness'] = (isReached, timeoutMs, name) =>
    pollUntil(() => readiness(name), isReached, timeoutMs);

  const opened = cleanup.move();
  return {
    url,
    startedAtMs,
    readiness,
    awaitReadiness,
    awaitOpen: (name) => awaitReadiness(({ nodeId }) => nodeId !== undefined, OPEN_TIMEOUT_MS, name),
    awaitAllConnected: (name) => awaitReadiness(isAllConnected, ALL_CONNECTED_TIMEOUT_MS, name),
    async metric(name) {
      const text = await (await get('/metrics')).text();
      const samples = text.matchAll(new RegExp(`^${METRIC_PREFIX}${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'));
      return new Map(Array.from(samples, ([, labels = '', value]) => [labels, Number(value)]));
    },
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
