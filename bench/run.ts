import { benchBls } from './bls.ts';
import { benchL1Index } from './l1-index.ts';
import { benchService } from './service.ts';
import { benchUpstream } from './upstream.ts';

/** Every benchmark by the name it is called with: `npm run bench -- NAME [--json] [numbers]`. */
const BENCHMARKS = { service: benchService, bls: benchBls, 'l1-index': benchL1Index, upstream: benchUpstream } as const;

const [name, ...rest] = process.argv.slice(2).filter((arg) => arg !== '--json');
const isJson = process.argv.includes('--json');
const benchmark = Object.entries(BENCHMARKS).find(([key]) => key === (name ?? 'service'))?.[1];
if (benchmark === undefined || rest.some((text) => !/^\d+$/.test(text))) {
  console.error(`usage: npm run bench -- [${Object.keys(BENCHMARKS).join('|')}] [--json] [sizes, e.g. 200 2000]`);
  process.exitCode = 2;
} else {
  await benchmark({
    sizes: rest.map(Number),
    report: (row) => console.log(isJson ? JSON.stringify(row) : describe(row)),
  });
}

function describe({ name: label, ...values }: Readonly<Record<string, string | number>>): string {
  const columns = Object.entries(values).map(([key, value]) => `${key} ${value}`);
  return `${String(label).padEnd(38)} ${columns.join('  ')}`;
}
