import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { buildChartTools } from './chart-tools.ts';

/** The chart under the real helm; what it makes is decoded by the types of Kubernetes, and its configuration by the service. */

const CHART = join(import.meta.dirname, '../../deploy/chart');
/** The Kubernetes version, which helm cannot find out without a cluster. */
const TEMPLATE = ['template', 'bridge', CHART, '--kube-version', '1.33.0'];

const EVERYTHING = {
  replicas: 3,
  image: { repository: 'registry.example/aggregator', tag: '1.2.3', pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  config: {
    networks: { fuji: { pChainApi: [{ baseUrl: 'https://api.avax-test.network' }] } },
    bls: { backend: 'noble', workers: 3 },
    server: { corsOrigins: ['https://bridge.example'], port: 1234 },
    store: { sharedUrl: '${REDIS_URL}' },
  },
  secrets: [{ name: 'aggregator' }],
  env: [{ name: 'TZ', value: 'UTC' }],
  service: { type: 'LoadBalancer', port: 80, annotations: { a: 'b' } },
  persistence: { enabled: true, size: '5Gi', storageClass: 'fast' },
  serviceMonitor: { enabled: true, interval: '5s', labels: { release: 'prometheus' } },
  alerts: { enabled: true, runbookBaseUrl: 'https://docs.example/aggregator/', labels: { release: 'prometheus' } },
  networkPolicy: {
    enabled: true,
    ingressFrom: [{ namespaceSelector: { matchLabels: { team: 'bridge' } } }],
    metricsFrom: [{ podSelector: { matchLabels: { app: 'prometheus' } } }],
  },
  podAnnotations: { c: 'd' },
  podLabels: { e: 'f' },
  nodeSelector: { g: 'h' },
  tolerations: [{ key: 'i', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
};
const LITTLE = {
  replicas: 1,
  persistence: { enabled: false },
  podDisruptionBudget: { enabled: false },
  topologySpreadConstraints: [],
};

describe('the chart', () => {
  let helm: string;
  let manifests: string;

  beforeAll(async () => {
    ({ helm, manifests } = await buildChartTools());
  });

  /** JSON is YAML, so values go in as they are. */
  function withValues(
    command: readonly string[],
    values: object,
  ): Promise<{ code: number | null; out: string; err: string }> {
    return pipe(helm, [...command, '--values', '-'], JSON.stringify(values));
  }

  async function render(values: object): Promise<string> {
    const { code, out, err } = await withValues([...TEMPLATE, '--namespace', 'warp'], values);
    expect(err).toBe('');
    expect(code).toBe(0);
    return out;
  }

  async function kindsOf(rendered: string): Promise<string[]> {
    const { code, out, err } = await pipe(manifests, [], rendered);
    expect(err).toBe('');
    expect(code).toBe(0);
    return out.trim().split('\n');
  }

  function configOf(rendered: string): object {
    const block = /config\.json: \|\n((?: {4}.*\n)+)/.exec(rendered)?.[1] ?? '';
    return JSON.parse(block) as object;
  }

  test('passes helm lint', async () => {
    const { stdout } = await promisify(execFile)(helm, ['lint', '--strict', CHART]);
    expect(stdout).toContain('0 chart(s) failed');
  });

  test('renders valid Kubernetes objects by default', async () => {
    const name = 'bridge-signature-aggregator';
    expect(await kindsOf(await render({}))).toEqual([
      `PodDisruptionBudget ${name}`,
      `ConfigMap ${name}`,
      `Service ${name}`,
      `Service ${name}-replicas`,
      `StatefulSet ${name}`,
    ]);
  });

  test('renders valid Kubernetes objects with everything switched on', async () => {
    const rendered = await render(EVERYTHING);
    const kinds = (await kindsOf(rendered)).map((line) => line.split(' ')[0]);
    const monitors = ['ServiceMonitor', 'PrometheusRule'];
    expect(new Set(kinds)).toEqual(
      new Set(['NetworkPolicy', 'PodDisruptionBudget', 'ConfigMap', 'Service', 'StatefulSet', ...monitors]),
    );
    for (const part of [
      'image: "registry.example/aggregator:1.2.3"',
      'storageClassName: "fast"',
      'secretRef: { name: "aggregator" }',
      'type: LoadBalancer',
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'runbook_url: https://docs.example/aggregator/docs/operate.md#signatureaggregatordown',
    ]) {
      expect(rendered).toContain(part);
    }
  });

  test('renders valid Kubernetes objects with everything switched off', async () => {
    const rendered = await render(LITTLE);
    expect((await kindsOf(rendered)).map((line) => line.split(' ')[0])).not.toContain('PodDisruptionBudget');
    expect(rendered).toContain('emptyDir: {}');
    expect(rendered).not.toContain('volumeClaimTemplates');
  });

  test.each([
    ['defaults', {}],
    ['everything', EVERYTHING],
  ])('gives the service a configuration that it takes: %s', async (_, values) => {
    const environment = { REDIS_URL: 'redis://:secret@redis:6379/0' };
    const { config } = parseConfig(configOf(await render(values)), {}, environment);
    expect(config.server).toMatchObject({
      host: '0.0.0.0',
      port: 8080,
      drainDelayMs: 5_000,
      shutdownTimeoutMs: 15_000,
    });
    expect(config.metrics).toMatchObject({ port: 9_091 });
    expect(config.store.path).toBe('/data/store');
  });

  test('has a few BLS threads, however many cores the machine of a pod has: each takes memory of the limit', async () => {
    const { config } = parseConfig(configOf(await render({})), {}, {});
    expect(config.bls).toEqual(expect.objectContaining({ backend: 'native', workers: 2 }));
  });

  test('names settings that it ignores, and replicas that share no Redis', async () => {
    // `helm template` leaves the notes out.
    const copy = mkdtempSync(join(tmpdir(), 'chart-'));
    onTestFinished(() => rmSync(copy, { recursive: true }));
    cpSync(CHART, copy, { recursive: true });
    writeFileSync(
      join(copy, 'templates/notes.yaml'),
      'text: {{ include "signature-aggregator.warnings" . | quote }}\n',
    );
    const notesOf = async (values: object): Promise<string[]> => {
      const show = ['template', 'bridge', copy, '--kube-version', '1.33.0', '--show-only', 'templates/notes.yaml'];
      const { code, out, err } = await withValues(show, values);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      const quoted = out.slice(out.indexOf('text: ') + 'text: '.length);
      return (JSON.parse(quoted) as string).split('\n').filter((line) => line.startsWith('WARNING'));
    };
    const alone = expect.stringMatching(
      /^WARNING: 2 replicas without config\.store\.sharedUrl, a Redis that they share/,
    );
    expect(await notesOf({})).toEqual([alone]);
    expect(await notesOf({ replicas: 1 })).toEqual([]);
    expect(await notesOf(EVERYTHING)).toEqual([
      'WARNING: config.server.port is ignored: the chart sets it. Set service.port in its place.',
    ]);
    expect(await notesOf({ replicas: 1, config: { store: { path: '/elsewhere' } } })).toEqual([
      'WARNING: config.store.path is ignored: the chart sets it.',
    ]);
  });

  test.each([
    [{ replicas: 0 }, 'replicas'],
    [{ shutdownTimeoutMs: 0 }, 'shutdownTimeoutMs'],
    [{ replica: 2 }, 'replica'],
    [{ config: { networks: { mainnet: null, fuji: null } } }, 'networks'],
    [{ config: { identity: { directory: '/elsewhere' } } }, 'identity'],
    [{ service: { port: 'http' } }, 'port'],
  ])('refuses the values %j', async (values, name) => {
    const { code, err } = await withValues(TEMPLATE, values);
    expect(code).not.toBe(0);
    expect(err).toContain(name);
  });
});

async function pipe(command: string, args: readonly string[], input: string) {
  const child = spawn(command, [...args], { stdio: 'pipe' });
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, out, err };
}
