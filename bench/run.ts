// node bench/run.ts NAME [--json] [numbers] [names]: runs a benchmark and prints its rows.

import { cpus } from 'node:os';
import type { Benchmark, Row } from './benchmark.ts';
import { benchBls } from './bls.ts';
import { benchBusy } from './busy.ts';
import { benchConnections } from './connections.ts';
import { benchConsole } from './console.ts';
import { benchFaults } from './faults.ts';
import { benchFeed } from './feed.ts';
import { benchHostile, benchHttpFloods } from './http-floods.ts';
import { benchLag } from './lag.ts';
import { benchMemory } from './memory.ts';
import { benchRecord } from './record.ts';
import { benchReference } from './reference.ts';
import { benchRepeated } from './repeated.ts';
import { benchReplicas } from './replicas.ts';
import { benchService } from './service.ts';
import { benchUpstream } from './upstream.ts';

const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  service: benchService,
  reference: benchReference,
  repeated: benchRepeated,
  upstream: benchUpstream,
  bls: benchBls,
  'http-floods': benchHttpFloods,
  hostile: benchHostile,
  connections: benchConnections,
  memory: benchMemory,
  faults: benchFaults,
  lag: benchLag,
  busy: benchBusy,
  feed: benchFeed,
  replicas: benchReplicas,
  console: benchConsole,
  record: benchRecord,
};

/** Benchmarks whose parts can be named. */
const TAKES_WORDS: ReadonlySet<string> = new Set(['http-floods', 'hostile', 'lag', 'busy', 'feed']);

const isJson = process.argv.includes('--json');
const [name = 'service', ...rest] = process.argv.slice(2).filter((arg) => arg !== '--json');
const benchmark = BENCHMARKS[name];
const sizes = rest.filter((text) => /^\d+$/.test(text)).map(Number);
const words = rest.filter((text) => !/^\d+$/.test(text));
if (benchmark === undefined || (words.length > 0 && !TAKES_WORDS.has(name))) {
  console.error(`usage: npm run bench -- [${Object.keys(BENCHMARKS).join('|')}] [--json] [numbers, e.g. 200 2000]`);
  process.exitCode = 2;
} else {
  const report = (row: Row): void => console.log(isJson ? JSON.stringify(row) : describe(row));
  report({ name: 'machine', cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version });
  await benchmark({ sizes, words, report });
}

function describe({ name, ...values }: Row): string {
  const columns = Object.entries(values).map(([key, value]) => `${key} ${value}`);
  return `${name.padEnd(38)} ${columns.join('  ')}`;
}
