import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from './redis-process.ts';
import { killServer, startServer } from './server-process.ts';

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
  const port = await findFreePort();
  const child = await startServer(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=info',
    ],
    /Server is ready/,
  );
  opened.defer(() => killServer(child));
  const closing = opened.move();
  return {
    async query(expr) {
      const url = new URL('/api/v1/query', `http://127.0.0.1:${port}`);
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
