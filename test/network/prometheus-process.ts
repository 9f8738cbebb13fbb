import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** It is installed in seconds, so tests fail where it is missing, and are not skipped. */
class PrometheusMissingError extends Error {
  override readonly name = 'PrometheusMissingError';

  constructor(cause: unknown) {
    super('prometheus is not installed, and dashboards and alerts are tested on it: apt-get install prometheus', {
      cause,
    });
  }
}

const START_TIMEOUT_MS = 30_000;

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** A Prometheus that scrapes every second, and forgets all when it ends. */
export interface PrometheusProcess extends AsyncDisposable {
  /** An instant query. */
  query(expr: string): Promise<readonly Sample[]>;
}

/**
 * @param options.target host and port of the service; its job is signature-aggregator
 * @param options.rules the text of a rule file
 * @throws {PrometheusMissingError}
 */
export async function startPrometheus(options: {
  readonly target: string;
  readonly rules: string;
}): Promise<PrometheusProcess> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'prometheus-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'rules.yaml'), options.rules);
  const jobs = [{ job_name: 'signature-aggregator', static_configs: [{ targets: [options.target] }] }];
  const global = { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' };
  // YAML takes JSON.
  await writeFile(
    join(folder, 'prometheus.yaml'),
    JSON.stringify({ global, rule_files: ['rules.yaml'], scrape_configs: jobs }),
  );
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
      '--log.level=info',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  opened.defer(() => end(child));
  const address = await listening(child);
  const closing = opened.move();
  return {
    async query(expr) {
      const url = new URL('/api/v1/query', `http://${address}`);
      url.searchParams.set('query', expr);
      const body = (await (await fetch(url)).json()) as {
        readonly status: string;
        readonly error?: string;
        readonly data?: { readonly result: readonly Sample[] };
      };
      if (body.data === undefined) throw new Error(`${expr}: ${body.error}`);
      return body.data.result;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Returns when it has ended; at once where it never began. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Resolves with its address when it serves. */
async function listening(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const said: string[] = [];
  let address: string | undefined;
  if (child.stderr === null) throw new Error('its log is not read');
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line);
    address ??= /msg="Listening on" address=([^\s"]+)/.exec(line)?.[1];
    if (line.includes('Server is ready') && address !== undefined) resolve(address);
  });
  child.once('error', (error) =>
    reject('code' in error && error.code === 'ENOENT' ? new PrometheusMissingError(error) : error),
  );
  child.once('exit', (code) => reject(new Error(`prometheus ended with ${code}:\n${said.join('\n')}`)));
  const timer = setTimeout(() => {
    child.kill('SIGKILL');
    reject(new Error(`prometheus did not start within ${START_TIMEOUT_MS} ms:\n${said.join('\n')}`));
  }, START_TIMEOUT_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
