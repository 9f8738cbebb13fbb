import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A process of this project, which disposing stops. */
export interface BenchProcess extends AsyncDisposable {
  /** The JSON object that the caller waited for on one of its outputs. */
  readonly announced: Readonly<Record<string, unknown>>;
  /** `performance.now()` just before the start. */
  readonly startedMs: number;
  readonly pid: number;
}

/** Runs a file of the project and waits for its announcement. @throws if it ends before */
export async function startProcess(
  args: readonly string[],
  isAnnouncement: (line: string) => boolean = () => true,
): Promise<BenchProcess> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const line = await firstLine(child, isAnnouncement);
  return {
    announced: JSON.parse(line) as Record<string, unknown>,
    startedMs,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: () => stop(child),
  };
}

export interface DevnetProcess extends BenchProcess {
  /** Routes of the devnet, such as `/devnet/messages`. */
  readonly url: string;
  /** Base URL of its P-Chain API. */
  readonly apiUrl: string;
}

/** @param how validators misbehave, as `devnet-process.ts` takes it */
export async function startDevnetProcess(validators: number, ...how: readonly string[]): Promise<DevnetProcess> {
  const devnet = await startProcess(['bench/devnet-process.ts', String(validators), ...how]);
  const { url, apiUrl } = devnet.announced as { readonly url: string; readonly apiUrl: string };
  return { ...devnet, url, apiUrl };
}

export interface ServiceProcess extends BenchProcess {
  readonly url: string;
  /** Where the metrics and probes are: another port with `metrics.port`. */
  readonly operationsUrl: string;
}

export interface BenchSettings {
  readonly network: object;
  readonly [section: string]: object;
}

/** Starts the service as `npm start` does, on a free port. @param nodeArgs further options of Node */
export async function startService(
  { network, ...sections }: BenchSettings,
  nodeArgs: readonly string[] = [],
): Promise<ServiceProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-service-'));
  try {
    const config = join(folder, 'config.json');
    const local = { aliases: ['mainnet', 'fuji', 'testnet'], ...network };
    const server = { port: 0 };
    const settings = { networks: { local }, log: { level: 'info' }, server, ...sections };
    await writeFile(config, JSON.stringify(settings));
    // The flags of `npm start`.
    const flags = ['--use-system-ca', '--max-semi-space-size=4', '--disable-warning=ExperimentalWarning', ...nodeArgs];
    const args = [...flags, 'src/start.js', '--config', config];
    const service = await startProcess(args, (line) => line.includes('"listening"'));
    const { url, metricsUrl = url } = service.announced as { readonly url: string; readonly metricsUrl?: string };
    return { ...service, url, operationsUrl: new URL(metricsUrl).origin };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The unit of CPU time in /proc: a hundredth of a second. */
const TICK_MS = 10;

/** @returns the CPU time of a process with all its threads so far */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return TICK_MS * (Number(fields[11]) + Number(fields[12]));
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  child.stdin?.end();
  await exited;
}

/** Whether a line is of the service's log below errors: under load these would hide everything else. */
function isUnremarkable(line: string): boolean {
  return /^\{"level":"(trace|debug|info|warn)"/.test(line);
}

/** Returns the first line of either output that `matches`; the rest is read and dropped, so that the child never blocks. */
function firstLine(child: ChildProcess, matches: (line: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) =>
      reject(new Error(`${child.spawnargs.slice(1).join(' ')} ended with exit code ${code}`)),
    );
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        if (line.startsWith('{') && matches(line)) resolve(line);
        else if (stream === child.stderr && !isUnremarkable(line)) process.stderr.write(`${line}\n`);
      });
    }
  });
}
