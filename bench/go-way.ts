import { readFileSync } from 'node:fs';
import { Agent } from 'undici';
import type { BenchmarkOptions } from './benchmark.ts';
import { type BenchProcess, startDevnetProcess, startProcess, startService } from './processes.ts';
import { newMessages, postMessage, untilReady } from './service.ts';
import { median, round } from './statistics.ts';

const DEFAULTS = { validators: 5, rounds: 9, requests: 320 };
const CLIENTS = 16;
const WARM_UP_REQUESTS = 320;
const GO_WAY = 'go way';
const BACKENDS = ['noble', 'native'] as const;
/** Beside the event loop, as many as this machine has cores: the reference verifies on all of them. */
const GO_WAY_THREADS = 2;

interface System {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly perSecond: number[];
  readonly cpuMs: number[];
}

/**
 * Distinct requests of sixteen clients, each of which waits for its answer: to our service with either backend, and to a server that
 * does it the way of the reference (`go-way-server.ts`). All three have the same embedded network, in a process of its own, and take
 * turns. Numbers: validators, rounds, requests of a round.
 */
export async function benchGoWay({ sizes, report }: BenchmarkOptions): Promise<void> {
  const [validators = DEFAULTS.validators, rounds = DEFAULTS.rounds, requests = DEFAULTS.requests] = sizes;
  await using opened = new AsyncDisposableStack();
  const agent = new Agent({ connections: CLIENTS, bodyTimeout: 0, headersTimeout: 0 });
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(validators));
  const systems: System[] = [];
  const add = (name: string, url: string, { pid }: BenchProcess): void =>
    void systems.push({ name, url, pid, perSecond: [], cpuMs: [] });
  const goWay = opened.use(await startProcess(['bench/go-way-server.ts', devnet.apiUrl, String(GO_WAY_THREADS)]));
  add(GO_WAY, String(goWay.announced['url']), goWay);
  for (const backend of BACKENDS) {
    const service = opened.use(
      await startService({
        network: { pChainApi: [{ baseUrl: devnet.apiUrl }], dialsPerSecond: 1_000 },
        bls: { backend },
      }),
    );
    await untilReady(service.url, agent);
    add(backend, service.url, service);
  }

  const load = async ({ url }: System, count: number): Promise<void> => {
    const messages = await newMessages(devnet.url, count);
    const client = async (): Promise<void> => {
      for (let next = messages.pop(); next !== undefined; next = messages.pop()) await postMessage(url, next, agent);
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
  };
  for (const system of systems) await load(system, WARM_UP_REQUESTS);
  const networkMs = new Map(systems.map(({ name }) => [name, [] as number[]]));
  for (let turn = 0; turn < rounds; turn += 1) {
    for (let index = 0; index < systems.length; index += 1) {
      const system = systems[(turn + index) % systems.length] as System;
      const [cpuBefore, networkBefore, startMs] = [cpuMs(system.pid), cpuMs(devnet.pid), performance.now()];
      await load(system, requests);
      system.perSecond.push((1_000 * requests) / (performance.now() - startMs));
      system.cpuMs.push((cpuMs(system.pid) - cpuBefore) / requests);
      networkMs.get(system.name)?.push((cpuMs(devnet.pid) - networkBefore) / requests);
    }
  }
  const reference = systems[0] as System;
  for (const { name, perSecond, cpuMs: cpu } of systems) {
    const ratios = perSecond.map((value, turn) => value / (reference.perSecond[turn] ?? Number.NaN));
    report({
      name: `${validators} validators, ${CLIENTS} clients: ${name}`,
      n: rounds * requests,
      per_s: round(median(perSecond), 1),
      ratio: round(median(ratios)),
      vs: GO_WAY,
      cpu_ms: round(median(cpu)),
      network_cpu_ms: round(median(networkMs.get(name) ?? [])),
    });
  }
}

/** The ticks of /proc: a hundredth of a second. */
const TICK_MS = 10;

/** CPU time of a process and all of its threads so far, where the system says it. */
function cpuMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return TICK_MS * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return Number.NaN;
  }
}
