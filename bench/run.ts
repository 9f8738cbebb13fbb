import { cpus } from 'node:os';
import type { Row } from './benchmark.ts';
import { benchBls } from './bls.ts';
import { benchL1Index } from './l1-index.ts';
import { benchReplicas } from './replicas.ts';
import { benchService } from './service.ts';
import { benchUpstream } from './upstream.ts';

/** Every benchmark by the name it is called with: `npm run bench -- NAME [--json] [numbers]`. */
const BENCHMARKS = {
  service: benchService,
  bls: benchBls,
  'l1-index': benchL1Index,
  upstream: benchUpstream,
  replicas: benchReplicas,
} as const;

const [name, ...rest] = process.argv.slice(2).filter((arg) => arg !== '--json');
const isJson = process.argv.includes('--json');
const benchmark = Object.entries(BENCHMARKS).find(([key]) => key === (name ?? 'service'))?.[1];
if (benchmark === undefined || rest.some((text) => !/^\d+$/.test(text))) {
  console.error(`usage: npm run bench -- [${Object.keys(BENCHMARKS).join('|')}] [--json] [sizes, e.g. 200 2000]`);
  process.exitCode = 2;
} else {
  const report = (row: Row): void => console.log(isJson ? JSON.stringify(row) : describe(row));
  report({ name: 'machine', cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version });
  await benchmark({ sizes: rest.map(Number), report });
}

function describe({ name, ...values }: Row): string {
  const columns = Object.entries(values).map(([key, value]) => `${key} ${value}`);
  return `${name.padEnd(38)} ${columns.join('  ')}`;
}
