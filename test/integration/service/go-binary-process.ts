import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { followLog, type ServiceLog } from '../../support/service-log.ts';

/** The script in place of the Go aggregator's binary, called as tools call it: its standard input closed, and SIGKILL at the end. */
export interface GoBinary extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly log: ServiceLog;
  readonly nodeID: string;
  /** At 127.0.0.1. */
  readonly urls: readonly [api: string, metrics: string];
}

export async function startGoBinary(
  entry: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<GoBinary> {
  const child = spawn(entry, args, { env: { PATH: '/usr/bin:/bin', ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  const exit = once(child, 'exit');
  const log = followLog(child);
  const { nodeId } = await log.line('staking identity');
  const { go = {} } = (await log.line('listening')) as { go?: Record<string, { api: string; metrics: string }> };
  const [{ api, metrics } = { api: '', metrics: '' }] = Object.values(go);
  return {
    child,
    log,
    nodeID: nodeId as string,
    urls: [api.replace('[::]', '127.0.0.1'), metrics.replace('[::]', '127.0.0.1')],
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** Has a message signed, which waits for connections to validators. */
export async function signByGoApi(url: string, message: string) {
  const response = await fetch(`${url}/aggregate-signatures`, { method: 'POST', body: JSON.stringify({ message }) });
  return { status: response.status, body: (await response.json()) as object };
}
