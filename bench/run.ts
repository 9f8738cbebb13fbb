import { cpus } from 'node:os';
import type { Row } from './benchmark.ts';
import { benchBls } from './bls.ts';
import { benchConsole } from './console.ts';
import { benchFaults } from './faults.ts';
import { benchHttp } from './http.ts';
import { benchHttpFloods } from './http-floods.ts';
import { benchHttpSoak } from './http-soak.ts';
import { benchL1Index } from './l1-index.ts';
import { benchMemory } from './memory.ts';
import { benchRedisFaults } from './redis-faults.ts';
import { benchReference } from './reference.ts';
import { benchRepeated } from './repeated.ts';
import { benchReplicas } from './replicas.ts';
import { benchService } from './service.ts';
import { benchStream } from './stream.ts';
import { benchUpstream } from './upstream.ts';
import { benchValidators } from './validators.ts';
import { benchWorkers } from './workers.ts';

/** Every benchmark by the name it is called with: `npm run bench -- NAME [--json] [numbers] [names]`. */
const BENCHMARKS = {
  ...{ service: benchService, faults: benchFaults, bls: benchBls, 'l1-index': benchL1Index, upstream: benchUpstream },
  ...{
    memory: benchMemory,
    repeated: benchRepeated,
    replicas: benchReplicas,
    'redis-faults': benchRedisFaults,
    http: benchHttp,
    'http-floods': benchHttpFloods,
    'http-soak': benchHttpSoak,
  },
  stream: benchStream,
  reference: benchReference,
  validators: benchValidators,
  workers: benchWorkers,
  console: benchConsole,
} as const;
/** Those that measure several things, of which one may be asked for by its name. */
const WITH_NAMES: readonly string[] = ['http', 'http-floods', 'redis-faults'];

const [name, ...rest] = process.argv.slice(2).filter((arg) => arg !== '--json');
const isJson = process.argv.includes('--json');
const benchmark = Object.entries(BENCHMARKS).find(([key]) => key === (name ?? 'service'))?.[1];
const sizes = rest.filter((text) => /^\d+$/.test(text)).map(Number);
const words = rest.filter((text) => !/^\d+$/.test(text));
if (benchmark === undefined || (words.length > 0 && !WITH_NAMES.includes(name ?? ''))) {
  console.error(`usage: npm run bench -- [${Object.keys(BENCHMARKS).join('|')}] [--json] [sizes, e.g. 200 2000]`);
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
