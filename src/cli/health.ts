import { readFileSync } from 'node:fs';
import { loadConfig } from '../config/load-config.ts';
import { parseArguments } from './arguments.ts';

/** Of a service that is alive it takes a millisecond. */
const ANSWER_TIMEOUT_MS = 2_000;

/**
 * Whether the service on this machine answers, for the health check of a container: 0 or 1. It reads the same configuration as the
 * service, and so knows its port. In a container that is the first process: `--of-process 1` takes its arguments.
 */
export async function checkHealth(args: readonly string[]): Promise<number> {
  try {
    const url = liveUrl(argumentsFor(args, readCommandLine));
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    if (response.ok) return 0;
    process.stderr.write(`${url} answers ${response.status}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  }
  return 1;
}

/** Those given, or with `--of-process N` those of that process, where it is the service. */
export function argumentsFor(args: readonly string[], read: (pid: string) => readonly string[]): readonly string[] {
  const [option, pid = '', ...rest] = args;
  if (option !== '--of-process') return args;
  const commandLine = read(pid);
  // An init process may stand before the service: what it starts is in its own arguments.
  const entry = commandLine.findIndex((argument) => argument.endsWith('start.js'));
  return entry < 0 ? rest : commandLine.slice(entry + 1);
}

/** Where the service that is started with these arguments says that it is alive. */
export function liveUrl(args: readonly string[]): string {
  const { host, port } = loadConfig(parseArguments(args).settings).config.server;
  if (port === 0) throw new Error('server.port is 0: nobody but the service knows which port it has got');
  const own: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };
  return `http://${own[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}/health/live`;
}

function readCommandLine(pid: string): readonly string[] {
  return readFileSync(`/proc/${Number(pid)}/cmdline`, 'utf8')
    .split('\0')
    .slice(0, -1);
}
