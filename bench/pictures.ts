// node bench/pictures.ts [RESULTS.jsonl …]: draws the pictures of bench/README.md from what `npm run bench -- NAME --json`
// printed. Without arguments, from all files in bench/results.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartsOf, parseRows } from './charts.ts';
import { drawLineChart } from './line-chart.ts';

const RESULTS = join(import.meta.dirname, 'results');
const PICTURES = join(import.meta.dirname, 'pictures');

const given = process.argv.slice(2);
const files = given.length > 0 ? given : resultsIn(RESULTS);
let drawn = 0;
for (const file of files) {
  // Each file on its own: the machine in it is the machine of its figures.
  for (const [name, chart] of chartsOf(parseRows(readFileSync(file, 'utf8')))) {
    mkdirSync(PICTURES, { recursive: true });
    writeFileSync(join(PICTURES, name), drawLineChart(chart));
    console.log(`bench/pictures/${name} from ${file}`);
    drawn += 1;
  }
}
if (drawn === 0) {
  console.error(
    `no figures to draw in ${files.join(', ') || RESULTS}; usage: node bench/pictures.ts [RESULTS.jsonl …]`,
  );
  process.exitCode = 1;
}

function resultsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .map((name) => join(folder, name));
}
