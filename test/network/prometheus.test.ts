import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import { type PrometheusProcess, startPrometheus } from './prometheus-process.ts';
import { type RedisProcess, startRedis } from './redis-process.ts';

/** A real Prometheus that scrapes the service under traffic: what dashboards and alerts ask for is there, and alerts come and go. */

const VALIDATORS = 10;
const DEADLINE_MS = 60_000;
const RULES = join(import.meta.dirname, '../../deploy/prometheus/alerts.yaml');
const DASHBOARDS = join(import.meta.dirname, '../../deploy/grafana');

/** Values that Grafana would insert for its variables. */
const inGrafana = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '20s').replaceAll(/\$(network|subnet)/g, '.*');
/** What a rule compares: a rule that does not fire gives nothing. */
const withoutComparisons = (expr: string): string => expr.replaceAll(/\s(==|>=|<=|>|<)\s*[\d.]+/g, '');

interface Rule {
  readonly name: string;
  readonly expr: string;
}

/** What is read of a dashboard's JSON; rows have no targets. */
interface Dashboard {
  readonly title: string;
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

function rulesOf(text: string): Rule[] {
  const found = text.matchAll(/- alert: (\w+)\n\s+expr: >-\n((?: {10}.*\n)+)/g);
  return [...found].map(([, name = '', expr = '']) => ({ name, expr: expr.replaceAll(/\s+/g, ' ').trim() }));
}

/** Polls until the query gives what is expected, as a person at a dashboard waits for the next scrape. */
async function until<T>(ask: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  for (;;) {
    const value = await ask();
    if (isThere(value) || deadline.aborted) return value;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

describe('a Prometheus that watches the service', { timeout: 3 * DEADLINE_MS }, async () => {
  const ruleText = await readFile(RULES, 'utf8');
  const rules = rulesOf(ruleText);
  const opened = new AsyncDisposableStack();
  let redis: RedisProcess;
  let service: RunningService;
  let prometheus: PrometheusProcess;

  beforeAll(async () => {
    redis = opened.use(await startRedis());
    service = opened.use(
      await startService(VALIDATORS, {
        settings: {
          store: { sharedUrl: `redis://127.0.0.1:${redis.port}` },
          access: { unitsPerMinute: 10_000_000 },
          upstream: { nodeRpc: { baseUrl: 'http://127.0.0.1:1' } },
          aggregation: { requestTimeoutMs: 2_000 },
          internals: { aggregation: { connectTimeoutMs: 500, peerTimeoutMs: 500 } },
        },
      }),
    );
    // Waiting is shortened, and nothing else: the conditions are those of the file.
    const quick = ruleText
      .replaceAll(/for: \d+m/g, 'for: 1s')
      .replaceAll('[10m]', '[15s]')
      .replaceAll('[5m]', '[15s]');
    prometheus = opened.use(await startPrometheus({ target: new URL(service.app.url).host, rules: quick }));
    const over = new AbortController();
    const traffic = sendTraffic(over.signal);
    opened.defer(() => {
      over.abort();
      return traffic;
    });
  }, DEADLINE_MS);
  afterAll(() => opened.disposeAsync());

  /** Distinct, repeated and wrong requests, one after the other. */
  async function sendTraffic(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const [message] = service.devnet.emitMessages(1);
      await service.post({ message });
      await service.post({ message });
      await service.post({ message: 'no hex' });
    }
  }

  const firing = async (): Promise<string[]> =>
    (await prometheus.query('ALERTS{alertstate="firing"}'))
      .map(({ metric }) => metric['alertname'] ?? '')
      .toSorted()
      .filter((name, index, all) => name !== all[index - 1]);
  const untilFiring = (names: readonly string[]) => until(firing, (found) => String(found) === String(names));

  test('no alert fires while all is well', async () => {
    expect(await untilFiring([])).toEqual([]);
  });

  test('a shared store that is away is alerted, and resolved on its return', async () => {
    await redis.kill();
    expect(await untilFiring(['SignatureAggregatorSharedStoreAway'])).toEqual(['SignatureAggregatorSharedStoreAway']);
    await redis.restart();
    expect(await untilFiring([])).toEqual([]);
  });

  test('too few validators are alerted, and resolved on their return', async () => {
    const stopped = Array.from({ length: VALIDATORS - 2 }, (_, index) => service.devnet.validator(index));
    await Promise.all(stopped.map((validator) => validator.stop()));
    const expected = [
      'SignatureAggregatorNetworkDown',
      'SignatureAggregatorQuorumFailures',
      'SignatureAggregatorSubnetBelowQuorum',
    ];
    expect(await untilFiring(expected)).toEqual(expected);
    await Promise.all(stopped.map((validator) => validator.restart()));
    expect(await untilFiring([])).toEqual([]);
  });

  // After the faults, of which some queries show the traces.
  const panels = readdirSync(DASHBOARDS).flatMap((file) => {
    const dashboard = JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')) as Dashboard;
    return dashboard.panels.flatMap((panel) =>
      (panel.targets ?? []).map(({ expr }) => ({ name: `${dashboard.title}: ${panel.title}`, expr })),
    );
  });
  test.each([...panels, ...rules.map(({ name, expr }) => ({ name, expr: withoutComparisons(expr) }))])(
    '$name has data: $expr',
    async ({ expr }) => {
      const found = await until(
        () => prometheus.query(inGrafana(expr)),
        (samples) => samples.some(({ value: [, text] }) => text !== 'NaN'),
      );
      expect(found.some(({ value: [, text] }) => text !== 'NaN')).toBe(true);
    },
  );
});
