import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import { type PrometheusProcess, startPrometheus } from './prometheus-process.ts';
import { startRedis } from './redis-process.ts';

/** A real Prometheus that scrapes the service under traffic: what dashboards and alerts ask for is there, and an alert comes and goes. */

const TIMEOUT_MS = 60_000;
const VALIDATORS = 10;
const DEPLOY = join(import.meta.dirname, '../../deploy');
const RULES = readFileSync(join(DEPLOY, 'prometheus/alerts.yaml'), 'utf8');

/** What is read of a dashboard's JSON; rows have no targets. */
interface Dashboard {
  readonly title: string;
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

const panels = readdirSync(join(DEPLOY, 'grafana')).flatMap((file) => {
  const dashboard = JSON.parse(readFileSync(join(DEPLOY, 'grafana', file), 'utf8')) as Dashboard;
  return dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => [
      `${dashboard.title}: ${title}`,
      // Values that Grafana would insert for its variables.
      expr.replaceAll('$__rate_interval', '20s').replaceAll(/\$(network|subnet|instance)/g, '.*'),
    ]),
  );
});
/** Without what they compare: a rule that does not fire gives nothing. */
const rules = [...RULES.matchAll(/- alert: (\w+)\n\s+expr: >-\n((?: {10}.*\n)+)/g)].map(([, name = '', expr = '']) => [
  name,
  expr.replaceAll(/\s+/g, ' ').replaceAll(/\s(==|>=|<=|>|<)\s*[\d.]+/g, ''),
]);

describe('a Prometheus that watches the service', { timeout: 3 * TIMEOUT_MS }, () => {
  const opened = new AsyncDisposableStack();
  let service: RunningService;
  let prometheus: PrometheusProcess;

  beforeAll(async () => {
    const redis = opened.use(await startRedis());
    service = opened.use(
      await startService(VALIDATORS, {
        settings: {
          network: { feed: { chains: [{ blockchainId: 'C' }] } },
          store: { sharedUrl: redis.url },
          access: { unitsPerMinute: 10_000_000 },
          upstream: { nodeRpc: { baseUrl: 'http://127.0.0.1:1' } },
          aggregation: { requestTimeoutMs: 2_000 },
          limits: { aggregation: { connectTimeoutMs: 500, peerTimeoutMs: 500 } },
        },
      }),
    );
    // Waiting is shortened, and nothing else: the conditions are those of the file.
    const quick = RULES.replaceAll(/for: \d+m/g, 'for: 1s').replaceAll(/\[(?:10|5)m\]/g, '[15s]');
    prometheus = opened.use(await startPrometheus({ target: new URL(service.app.url).host, rules: quick }));
    const over = new AbortController();
    const traffic = sendTraffic(over.signal);
    opened.defer(() => {
      over.abort();
      return traffic;
    });
  }, TIMEOUT_MS);
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

  const expectFiring = (names: readonly string[]) =>
    expect
      .poll(() => prometheus.query('count by (alertname) (ALERTS{alertstate="firing"})'), { timeout: TIMEOUT_MS })
      .toSatisfy((found: readonly { readonly metric: Readonly<Record<string, string>> }[]) => {
        return String(found.map(({ metric }) => `${metric['alertname']}`).toSorted()) === String(names);
      });

  test('too few validators are alerted, and resolved on their return', async () => {
    await expectFiring([]);
    const stopped = Array.from({ length: VALIDATORS - 2 }, (_, index) => service.devnet.validator(index));
    await Promise.all(stopped.map((validator) => validator.stop()));
    const ofSubnet = ['QuorumFailures', 'SubnetBelowQuorum'].map((name) => `SignatureAggregator${name}`);
    await expectFiring(['SignatureAggregatorNetworkDown', ...ofSubnet]);
    await Promise.all(stopped.map((validator) => validator.start()));
    await expectFiring([]);
  });

  // After the fault, of which some queries show the traces.
  test.each([...panels, ...rules])('%s has data: %s', async (_, expr = '') => {
    await expect
      .poll(() => prometheus.query(expr), { timeout: TIMEOUT_MS })
      .toSatisfy((found: readonly { readonly value: readonly [number, string] }[]) =>
        found.some(({ value: [, text] }) => text !== 'NaN'),
      );
  });
});
