import { afterEach, beforeEach } from 'vitest';
import { type ServiceChild, startServiceChild } from '../integration/service/service-child.ts';
import { pollUntil } from './poll-until.ts';
import type { RealNetwork } from './real-network.ts';

const REQUEST_TIMEOUT_MS = 30_000;
/** Twice the longest pause before another dial, after a few failures. */
const ALL_CONNECTED_TIMEOUT_MS = 60_000;

export interface ServiceSettings {
  /** Base URL of the node's API; that of the first node by default. */
  readonly apiUrl?: string;
  readonly trackedSubnetIds?: readonly string[];
  /** Holds the certificate and its key. */
  readonly identityDirectory?: string;
  /** Further settings of the network. */
  readonly network?: object;
}

export interface Answer {
  readonly status: number;
  /** The named fields are those of a success. */
  readonly body: Readonly<Record<string, unknown>> & {
    readonly signedMessage: string;
    readonly pChainHeight: number;
    readonly signers: readonly string[];
    readonly warnings?: readonly { readonly code: string }[];
  };
  readonly headers: Headers;
}

export interface Readiness {
  readonly httpStatus: number;
  readonly nodeId?: string;
  readonly subnets: readonly { readonly connectedWeight?: string; readonly totalWeight?: string }[];
}

/** The service as users run it: a process with a configuration file. */
export interface ServiceProcess extends AsyncDisposable {
  readonly url: string;
  /** @param path below that of the network */
  get(path: string): Promise<Answer>;
  aggregate(body: object): Promise<Answer>;
  verify(body: object): Promise<Answer>;
  /** @param query such as `?destinationBlockchainId=…` */
  aggregateOf(txHash: string, query?: string): Promise<Answer>;
  awaitReadiness(isReached: (readiness: Readiness) => boolean, timeoutMs?: number): Promise<Readiness>;
  /** Waits until every validator of the subnets kept connected is connected. */
  awaitAllConnected(): Promise<Readiness>;
  /** Asks the process to end, as an operator would, and returns its exit code. */
  stop(): Promise<number | null>;
}

export function isReady({ httpStatus }: Readiness): boolean {
  return httpStatus === 200;
}

export function isAllConnected({ httpStatus, subnets }: Readiness): boolean {
  return httpStatus === 200 && subnets.every(({ connectedWeight, totalWeight }) => connectedWeight === totalWeight);
}

/** Those of the current test, and those that ran before it. */
let children: ServiceChild[] = [];

/** Prints the logs of the services when a test fails. */
export function showLogsOfFailures(): void {
  beforeEach(() => {
    children = children.filter(({ child }) => child.exitCode === null && child.signalCode === null);
  });
  afterEach(({ task }) => {
    if (task.result?.state !== 'fail') return;
    for (const { log } of children) console.error(`a service's log before "${task.name}" failed:\n${log.tail()}`);
  });
}

/** Returns as soon as the service listens, which is before it is ready. */
export async function startServiceProcess(
  { nodes }: RealNetwork,
  { apiUrl = nodes[0]?.apiUrl, trackedSubnetIds = [], identityDirectory, network }: ServiceSettings = {},
): Promise<ServiceProcess> {
  const service = await startServiceChild({
    networks: { local: { aliases: ['fuji'], pChainApi: [{ baseUrl: apiUrl }], trackedSubnetIds, ...network } },
    server: { port: 0 },
    log: { level: 'debug' },
    identity: { directory: identityDirectory },
  });
  children.push(service);
  const url = await service.url();

  async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(`${url}/v1/signatureAggregator/fuji/${path}`, {
      ...init,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return { status: response.status, body: (await response.json()) as Answer['body'], headers: response.headers };
  }
  const post = (path: string, body: object) =>
    ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  async function readiness(): Promise<Readiness> {
    const { status, json } = await service.get('/health/ready/local');
    return { ...(json() as Omit<Readiness, 'httpStatus'> & Record<string, unknown>), httpStatus: status };
  }
  const awaitReadiness: ServiceProcess['awaitReadiness'] = (isReached, timeoutMs = ALL_CONNECTED_TIMEOUT_MS) =>
    pollUntil(readiness, isReached, timeoutMs);

  return {
    url,
    awaitReadiness,
    awaitAllConnected: () => awaitReadiness(isAllConnected),
    get: (path) => ask(path),
    aggregate: (body) => post('aggregateSignatures', body),
    verify: (body) => post('verify', body),
    aggregateOf: (txHash, query = '') => ask(`aggregateSignatures/${txHash}${query}`),
    stop() {
      service.child.kill('SIGTERM');
      return service.exitCode();
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
