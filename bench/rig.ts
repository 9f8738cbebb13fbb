import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Agent, request } from 'undici';
import { type ServiceProcess, startDevnetProcess, startService } from './processes.ts';

const READY_TIMEOUT_MS = 180_000;

/** What a service and its embedded network are for those who load them. Each has a process of its own. */
export interface Rig extends AsyncDisposable {
  readonly service: ServiceProcess;
  readonly devnetUrl: string;
  readonly pChain: HangingProxy;
}

/**
 * @param sections of the service's settings, beside the network
 * @param nodeArgs of the service's process
 */
export async function startRig(
  validators: number,
  sections: Readonly<Record<string, object>> = {},
  nodeArgs: readonly string[] = [],
): Promise<Rig> {
  await using opened = new AsyncDisposableStack();
  const devnet = opened.use(await startDevnetProcess(validators));
  const pChain = opened.use(await startHangingProxy(devnet.apiUrl));
  const service = opened.use(
    await startService({ network: { pChainApi: [{ baseUrl: pChain.url }] }, ...sections }, nodeArgs),
  );
  await untilReady(service.url);
  const closing = opened.move();
  return { service, devnetUrl: devnet.url, pChain, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

async function untilReady(url: string): Promise<void> {
  const agent = new Agent();
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const { statusCode, body } = await request(`${url}/health/ready`, { dispatcher: agent });
    const text = await body.text();
    if (statusCode === 200) return agent.close();
    if (performance.now() > deadlineMs) throw new Error(`not ready after ${READY_TIMEOUT_MS} ms: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Passes bytes on to an API, and stops doing so when it is told to: connections open, and nothing answers. */
export interface HangingProxy extends AsyncDisposable {
  readonly url: string;
  isHanging: boolean;
}

async function startHangingProxy(target: string): Promise<HangingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const follow = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
    socket.on('data', (chunk) => {
      if (!proxy.isHanging) other.write(chunk);
    });
  };
  const server = createServer((client) => {
    const api = connect(Number(port), hostname);
    follow(client, api);
    follow(api, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isHanging: false,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}

/** What the service says of itself. */
export interface Resources {
  readonly rssMib: number;
  readonly heapMib: number;
  readonly externalMib: number;
  readonly sockets: number;
  readonly timers: number;
  readonly cpuSeconds: number;
}

export async function readResources(url: string, dispatcher?: Agent): Promise<Resources> {
  const value = await readMetrics(url, dispatcher);
  const mib = (metric: string): number => Math.round(value(metric) / 2 ** 20);
  return {
    rssMib: mib('process_resident_memory_bytes'),
    heapMib: mib('nodejs_heap_size_used_bytes'),
    externalMib: mib('nodejs_external_memory_bytes'),
    sockets: value('nodejs_active_resources{type="TCPSocketWrap"}'),
    timers: value('nodejs_active_resources{type="Timeout"}'),
    cpuSeconds: value('process_cpu_seconds_total'),
  };
}

/** What of the heap lives, in bytes. */
export interface LiveHeap {
  /** All that the service has made and still holds. */
  readonly objects: number;
  /** What V8 made of its code: it compiles what runs often, and lets go of what has not run for some collections. */
  readonly code: number;
}

/** For the handler of the signal, and the collection itself. */
const COLLECTED_AFTER_MS = 200;

/** @param service started with {@link COLLECTING}: everything that is garbage is collected first */
export async function readLiveHeap({ pid, url }: ServiceProcess): Promise<LiveHeap> {
  process.kill(pid, 'SIGUSR2');
  await new Promise((resolve) => setTimeout(resolve, COLLECTED_AFTER_MS));
  const value = await readMetrics(url);
  const used = (space: string): number => value(`nodejs_heap_space_size_used_bytes{space="${space}"}`);
  // What survives a full collection is in these; what is new since then is mostly the answer that tells of it.
  return {
    objects: used('old') + used('large_object'),
    code: used('code') + used('code_large_object') + used('trusted') + used('trusted_large_object'),
  };
}

/** Arguments of Node. */
export const COLLECTING: readonly string[] = ['--expose-gc', '--import', './bench/collect-on-signal.js'];

/** @returns the value of a time series by its name and labels, 0 where there is none */
async function readMetrics(url: string, dispatcher?: Agent): Promise<(series: string) => number> {
  const { body } = await request(`${url}/metrics`, { ...(dispatcher && { dispatcher }) });
  const text = await body.text();
  return (series) => {
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? 0);
  };
}

/** The most that the process ever had in memory, where the system says it. */
export function peakRssMib(pid: number): number | undefined {
  try {
    const kib = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Math.round(Number(kib) / 1024);
  } catch {
    return undefined;
  }
}
